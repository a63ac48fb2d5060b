// Libraries on top of PyTorch: Lightning, Hugging Face Accelerate (and the Trainer of Transformers,
// which is built on it), DeepSpeed, MosaicML Composer. One process per task, or their own launcher
// once per node.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launchers.h"

namespace distgpu {
namespace {

using namespace contract;
using Meaning = OptionMeaning;

// Lightning. One process per task: its SLURMEnvironment reads the ranks from SLURM_*, and of
// distgpu's variables only the address, the port and SLURM_NTASKS_PER_NODE
// (lightning/fabric/plugins/environments/slurm.py, 2.6). Once per node: its LightningEnvironment
// starts a process for each device, unless LOCAL_RANK is set.

// Lightning takes a job with one of these names as interactive: it ignores Slurm's ranks and
// numbers the ranks node by node instead.
Value noninteractive_job_name(const TaskContext& task) {
    const std::string& name = task.step->facts.job_name;
    return name == "bash" || name == "interactive" ? Value("lightning") : std::nullopt;
}

constexpr auto lightning_sets = joined(
    env_rendezvous, std::to_array<SetVariable>(
                        {{"SLURM_NTASKS_PER_NODE",
                          "number of the step's tasks on this node, which Lightning compares with "
                          "its devices and Slurm sets only for --ntasks-per-node",
                          local_world_size},
                         {"SLURM_JOB_NAME",
                          "`lightning` in a job named `bash` or `interactive`, in which Lightning "
                          "would ignore Slurm; otherwise left alone",
                          noninteractive_job_name}}));

std::optional<Error> refuse_unequal_tasks(const StepView& step) {
    const std::uint32_t min = step.layout.min_tasks_per_node();
    const std::uint32_t max = step.layout.max_tasks_per_node();
    if (min == max) return std::nullopt;
    return Error{
        "--distgpu=lightning",
        formatted(
            "the nodes have {} to {} tasks, but Lightning needs the same number on every node", min,
            max),
        "use --ntasks-per-node=N"};
}

constexpr auto lightning_node_sets = joined(node_rendezvous, std::array{hide_slurm_variable});

constexpr auto fabric_options = std::to_array<LauncherOption>({
    {"--num-nodes", Meaning::nodes, "--num-nodes $SLURM_NNODES"},
    {"--devices", Meaning::processes},
    {"--node-rank", Meaning::node_rank, "--node-rank $NODE_RANK within bash -c '...'"},
    {"--main-address", Meaning::address, "--main-address $MASTER_ADDR within bash -c '...'"},
    {"--main-port", Meaning::port, "--main-port $MASTER_PORT within bash -c '...'"},
});

std::optional<Mismatch> find_mismatch_fabric(const StepView& step, const GivenOptions& given) {
    if (step.layout.node_count() == 1 || !given.lacks("--num-nodes")) return std::nullopt;
    return Mismatch{{"fabric run",
                     formatted("without --num-nodes each of the step's {} nodes would train alone",
                               step.layout.node_count()),
                     "write bash -c 'fabric run --num-nodes $SLURM_NNODES --node-rank $NODE_RANK "
                     "--main-address $MASTER_ADDR --main-port $MASTER_PORT ...', or use "
                     "--distgpu=lightning with a task for each GPU"},
                    true};
}

// Fabric's command line: torchrun with other options (lightning/fabric/cli.py, 2.6).
constexpr LauncherOptions fabric{.options = fabric_options,
                                 .flags = "--help",
                                 .allows_abbreviations = false,
                                 .reads_after_script = true,
                                 .find_mismatch = find_mismatch_fabric};

const Framework lightning_per_node{
    .mode = "lightning,per-node",
    .summary = "Lightning, one task per node: the Trainer starts a process for each device",
    .launcher_per_node = true,
    .launchers = words<"fabric run", "lightning run", "python -m lightning.fabric.cli run",
                       "python -m lightning_fabric.cli run">,
    .launcher_options = &fabric,
    .scripts_can_launch = true,
    .sets = lightning_node_sets,
    .unsets = launcher_unsets,
    .refuse = refuse_several_tasks,
};

// Accelerate. accelerate/state.py uses env:// if LOCAL_RANK is set; `accelerate launch`
// (commands/launch.py, 1.15) reads the machine's rank only from its command line.

constexpr auto accelerate_options = std::to_array<LauncherOption>({
    {"--num-machines", Meaning::nodes, "--num_machines $SLURM_NNODES"},
    {"--num-processes", Meaning::processes_in_all,
     "--num_processes with the number of all GPUs of the step"},
    {"--machine-rank", Meaning::node_rank, "--machine_rank $NODE_RANK within bash -c '...'"},
    {"--main-process-ip", Meaning::address, "--main_process_ip $MASTER_ADDR within bash -c '...'"},
    {"--main-process-port", Meaning::port, "--main_process_port $MASTER_PORT within bash -c '...'"},
    {"--config-file", Meaning::custom},
    {"--deepspeed-multinode-launcher", Meaning::custom},
});

// Accelerate reads none of this from variables. Without the options, a configuration file in the
// user's home may set them, the same for all nodes.
std::optional<Mismatch> find_mismatch_accelerate(const StepView& step, const GivenOptions& given) {
    const std::uint32_t nodes = step.layout.node_count();
    if (nodes == 1) return std::nullopt;
    if (given.lacks("--num-machines") && given.lacks("--config-file")) {
        return Mismatch{
            {"accelerate launch",
             formatted("without --num_machines each of the step's {} nodes trains alone, "
                       "unless a configuration file says otherwise",
                       nodes),
             "write bash -c 'accelerate launch --num_machines $SLURM_NNODES "
             "--machine_rank $NODE_RANK --main_process_ip $MASTER_ADDR "
             "--main_process_port $MASTER_PORT ...', or use --distgpu=accelerate with a "
             "task for each GPU"}};
    }
    const GivenOption* const other = given.find("--deepspeed-multinode-launcher");
    if (other == nullptr || has_word("standard nossh", other->value.value_or("standard"))) {
        return std::nullopt;
    }
    return Mismatch{{formatted("accelerate launch {}", other->text),
                     "each node's launcher would start the processes of all nodes",
                     "use --deepspeed_multinode_launcher standard"},
                    true};
}

constexpr LauncherOptions accelerate_launch{
    .options = accelerate_options,
    .flags =
        "--quiet -q --cpu --multi-gpu --tpu --ipex --use-xpu --enable-cpu-affinity "
        "--dynamo-use-fullgraph --dynamo-use-dynamic --dynamo-use-regional-compilation "
        "--use-deepspeed --use-fsdp --use-parallelism-config --use-megatron-lm --same-network "
        "-m --module --no-python --tpu-cluster --no-tpu-cluster --tpu-use-sudo "
        "--downcast-bf16 --fp8-use-autocast-during-eval --debug -h --help",
    .allows_abbreviations = false,
    .find_mismatch = find_mismatch_accelerate};

const Framework accelerate_per_node{
    .mode = "accelerate,per-node",
    .summary = "accelerate launch, one launcher per node",
    .launcher_per_node = true,
    .launchers =
        words<"accelerate launch", "accelerate-launch", "python -m accelerate.commands.launch">,
    .launcher_options = &accelerate_launch,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = refuse_several_tasks,
};

// DeepSpeed. One process per task: deepspeed/comm/comm.py (0.19) uses env://, and Azure ML,
// SageMaker or mpi4py only if one of its variables is missing. Once per node: its launcher,
// deepspeed/launcher/runner.py with --no_ssh.

constexpr auto deepspeed_options = std::to_array<LauncherOption>({
    {"--num-nodes", Meaning::nodes, "--num_nodes $SLURM_NNODES"},
    {"--num-gpus", Meaning::processes},
    {"--num-accelerators", Meaning::processes},
    {"--node-rank", Meaning::node_rank, "--node_rank $NODE_RANK within bash -c '...'"},
    {"--master-addr", Meaning::address, "--master_addr $MASTER_ADDR within bash -c '...'"},
    {"--master-port", Meaning::port, "--master_port $MASTER_PORT within bash -c '...'"},
    {"--include", Meaning::custom, {}, "-i"},
    {"--no-ssh", Meaning::custom},
});

// Without --no_ssh it starts the processes of all nodes in its hostfile over ssh, or only its own
// node's if there is no hostfile (launcher/runner.py).
std::optional<Mismatch> find_mismatch_deepspeed(const StepView& step, const GivenOptions& given) {
    const std::uint32_t nodes = step.layout.node_count();
    if (nodes == 1) return std::nullopt;
    if (given.lacks("--no-ssh")) {
        return Mismatch{
            {"deepspeed",
             formatted("without --no_ssh each of the step's {} nodes would train alone, "
                       "or start all of them again over ssh",
                       nodes),
             "write --no_ssh, with --hostfile, --node_rank and --master_addr, or use "
             "--distgpu=deepspeed with a task for each GPU"},
            true};
    }
    const GivenOption* const only = given.find("--include");
    if (only == nullptr || !only->value.value_or("").starts_with("localhost")) return std::nullopt;
    return Mismatch{
        {formatted("deepspeed {}", only->text),
         formatted("each of the step's {} nodes would train alone", nodes), "leave it out"},
        true};
}

constexpr LauncherOptions deepspeed_launcher{
    .options = deepspeed_options,
    .flags =
        "--module --no-python --no-local-rank --no-ssh --no-ssh-check --force-multi "
        "--save-pid --elastic-training --bind-cores-to-rank -h --help",
    .find_mismatch = find_mismatch_deepspeed};

const Framework deepspeed_per_node{
    .mode = "deepspeed,per-node",
    .summary = "the deepspeed launcher with --no_ssh, one per node",
    .launcher_per_node = true,
    .launchers = words<"deepspeed", "python -m deepspeed.launcher.runner">,
    .launcher_options = &deepspeed_launcher,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = refuse_several_tasks,
};

// Composer: one launcher per node, which also needs the world size. composer/cli/launcher.py (0.32)
// reads the defaults of its options from these variables.

Value all_processes(const TaskContext& task) {
    return std::to_string(std::uint64_t{task.node_count} * task.processes_per_node);
}
Value first_rank(const TaskContext& task) {
    return std::to_string(std::uint64_t{task.node_rank.value} * task.processes_per_node);
}

constexpr auto composer_sets =
    joined(node_rendezvous,
           std::to_array<SetVariable>({
               {"WORLD_SIZE", "number of processes on all nodes", all_processes},
               {"LOCAL_WORLD_SIZE",
                "processes that the launcher starts here: nproc=N, else the node's GPUs in "
                "this step, else its CPUs",
                processes},
               {"BASE_RANK", "rank of this node's first process", first_rank},
           }));

constexpr auto composer_unsets =
    joined(std::to_array<UnsetVariable>({{"RANK", "the launcher owns the ranks"},
                                         {"LOCAL_RANK", "the launcher owns the ranks"}}),
           env_rendezvous_leftovers);

constexpr auto composer_options = std::to_array<LauncherOption>({
    {"--nproc", Meaning::processes_of_world, {}, "-n"},
    {"--world-size", Meaning::world},
    {"--base-rank", Meaning::node_rank},
    {"--node-rank", Meaning::node_rank},
    {"--master-addr", Meaning::address},
    {"--master-port", Meaning::port},
});
constexpr LauncherOptions composer_launcher{
    .options = composer_options,
    .flags = "-v --verbose -m --module-mode -c --command-mode --version -h --help"};

// Each node computes the world size from its own number of processes, so all must be equal.
std::optional<Error> refuse_unequal_nodes(const StepView& step) {
    if (auto refusal = refuse_several_tasks(step)) return refusal;
    const std::string& cpus = step.facts.cpus_per_node;
    if (step.request.nproc || step.layout.node_count() == 1 ||
        cpus.find(',') == std::string::npos) {
        return std::nullopt;
    }
    return Error{
        "--distgpu=composer",
        formatted(
            "the nodes differ (CPUs: {}), but Composer starts the same number of processes on each",
            cpus),
        "set the number with --distgpu=composer,nproc=N"};
}

}  // namespace

const Framework lightning{
    .mode = "lightning",
    .summary = "PyTorch Lightning, one process per task",
    .keys = per_node_keys,
    .variants = per_node_variant<lightning_per_node>,
    .one_gpu_per_task = true,
    .fixed_ranks_reason = "Lightning takes its ranks from SLURM_PROCID",
    .order_remedy = "use lightning,per-node with --ntasks-per-node=1, or leave it out",
    .sets = lightning_sets,
    .unsets = env_rendezvous_leftovers,
    .refuse = refuse_unequal_tasks,
};

const Framework accelerate{
    .mode = "accelerate",
    .summary = "Hugging Face Accelerate and Trainer, one process per task",
    .aliases = words<"transformers">,
    .keys = per_node_keys,
    .variants = per_node_variant<accelerate_per_node>,
    .one_gpu_per_task = true,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

const Framework deepspeed{
    .mode = "deepspeed",
    .summary = "DeepSpeed, one process per task",
    .keys = per_node_keys,
    .variants = per_node_variant<deepspeed_per_node>,
    .one_gpu_per_task = true,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

const Framework composer{
    .mode = "composer",
    .summary = "MosaicML Composer, one launcher per node",
    .keys = words<"nproc">,
    .launcher_per_node = true,
    .launchers = words<"composer", "python -m composer.cli.launcher">,
    .launcher_options = &composer_launcher,
    .sets = composer_sets,
    .unsets = composer_unsets,
    .refuse = refuse_unequal_nodes,
};

}  // namespace distgpu
