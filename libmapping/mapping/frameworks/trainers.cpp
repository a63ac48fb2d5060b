// Libraries on top of PyTorch: Lightning, Hugging Face Accelerate (and the Trainer of Transformers,
// which is built on it), DeepSpeed, MosaicML Composer. One process per task, or their own launcher
// once a node.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launchers.h"

namespace distgpu {
namespace {

using namespace contract;
using Meaning = OptionMeaning;

// Lightning. One process per task: its SLURMEnvironment takes the ranks from SLURM_*, and of ours
// only the address, the port and SLURM_NTASKS_PER_NODE
// (lightning/fabric/plugins/environments/slurm.py, 2.6). Once a node: its LightningEnvironment
// starts a process for each device, unless LOCAL_RANK is set.

// A job of one of these names is one in which the user types: Lightning does not take
// its ranks from Slurm there, and numbers them node by node instead.
Value visible_job_name(const TaskContext& task) {
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
                          visible_job_name}}));

std::optional<Error> equal_tasks_per_node(const StepView& step) {
    const std::uint32_t least = step.layout.min_tasks_per_node();
    const std::uint32_t most = step.layout.max_tasks_per_node();
    if (least == most) return std::nullopt;
    return Error{
        "--distgpu=lightning",
        formatted(
            "the nodes have {} to {} tasks, but Lightning needs the same number on every node",
            least, most),
        "use --ntasks-per-node=N"};
}

constexpr auto lightning_node_sets = joined(node_rendezvous, std::array{hidden_slurm});

constexpr auto fabric_options = std::to_array<LauncherOption>({
    {"--num-nodes", Meaning::nodes, "--num-nodes $SLURM_NNODES"},
    {"--devices", Meaning::processes},
    {"--node-rank", Meaning::own_rank, "--node-rank $NODE_RANK within bash -c '...'"},
    {"--main-address", Meaning::address, "--main-address $MASTER_ADDR within bash -c '...'"},
    {"--main-port", Meaning::port, "--main-port $MASTER_PORT within bash -c '...'"},
});

std::optional<Misfit> judge_fabric(const StepView& step, const GivenOptions& given) {
    if (step.layout.node_count() == 1 || !given.lacks("--num-nodes")) return std::nullopt;
    return Misfit{{"fabric run",
                   formatted("without --num-nodes each of the step's {} nodes would train alone",
                             step.layout.node_count()),
                   "write bash -c 'fabric run --num-nodes $SLURM_NNODES --node-rank $NODE_RANK "
                   "--main-address $MASTER_ADDR --main-port $MASTER_PORT ...', or use "
                   "--distgpu=lightning with a task for each GPU"},
                  true};
}

// Fabric's command line, which is torchrun with options of its own (lightning/fabric/cli.py, 2.6).
constexpr LauncherOptions fabric{.options = fabric_options,
                                 .flags = "--help",
                                 .abbreviated = false,
                                 .behind_the_script = true,
                                 .judge = judge_fabric};

const Framework lightning_per_node{
    .mode = "lightning,per-node",
    .summary = "Lightning, one task per node: the Trainer starts a process for each device",
    .launcher_per_node = true,
    .launchers = words<"fabric run", "lightning run", "python -m lightning.fabric.cli run",
                       "python -m lightning_fabric.cli run">,
    .launcher_options = &fabric,
    .scripts_launch = true,
    .sets = lightning_node_sets,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

// Accelerate. accelerate/state.py is distributed where LOCAL_RANK is set and then uses env://;
// `accelerate launch` (commands/launch.py, 1.15) takes the machine's rank from its command line
// alone.

constexpr auto accelerate_options = std::to_array<LauncherOption>({
    {"--num-machines", Meaning::nodes, "--num_machines $SLURM_NNODES"},
    {"--num-processes", Meaning::processes_in_all,
     "--num_processes with the number of all GPUs of the step"},
    {"--machine-rank", Meaning::own_rank, "--machine_rank $NODE_RANK within bash -c '...'"},
    {"--main-process-ip", Meaning::address, "--main_process_ip $MASTER_ADDR within bash -c '...'"},
    {"--main-process-port", Meaning::port, "--main_process_port $MASTER_PORT within bash -c '...'"},
    {"--config-file", Meaning::others},
    {"--deepspeed-multinode-launcher", Meaning::others},
});

// It takes nothing of this from variables; without the options, a file in the user's home may have
// it, the same for all nodes.
std::optional<Misfit> judge_accelerate(const StepView& step, const GivenOptions& given) {
    const std::uint32_t nodes = step.layout.node_count();
    if (nodes == 1) return std::nullopt;
    if (given.lacks("--num-machines") && given.lacks("--config-file")) {
        return Misfit{{"accelerate launch",
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
    return Misfit{{formatted("accelerate launch {}", other->text),
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
    .abbreviated = false,
    .judge = judge_accelerate};

const Framework accelerate_per_node{
    .mode = "accelerate,per-node",
    .summary = "accelerate launch, one launcher per node",
    .launcher_per_node = true,
    .launchers =
        words<"accelerate launch", "accelerate-launch", "python -m accelerate.commands.launch">,
    .launcher_options = &accelerate_launch,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

// DeepSpeed. One process per task: deepspeed/comm/comm.py (0.19) is content with env:// and asks
// Azure ML, SageMaker or mpi4py only where one of its variables is missing. Once a node: its
// launcher, deepspeed/launcher/runner.py with --no_ssh.

constexpr auto deepspeed_options = std::to_array<LauncherOption>({
    {"--num-nodes", Meaning::nodes, "--num_nodes $SLURM_NNODES"},
    {"--num-gpus", Meaning::processes},
    {"--num-accelerators", Meaning::processes},
    {"--node-rank", Meaning::own_rank, "--node_rank $NODE_RANK within bash -c '...'"},
    {"--master-addr", Meaning::address, "--master_addr $MASTER_ADDR within bash -c '...'"},
    {"--master-port", Meaning::port, "--master_port $MASTER_PORT within bash -c '...'"},
    {"--include", Meaning::others, {}, "-i"},
    {"--no-ssh", Meaning::others},
});

// Without --no_ssh it starts the nodes of its hostfile over ssh, or its own node's processes where
// it finds none (launcher/runner.py).
std::optional<Misfit> judge_deepspeed(const StepView& step, const GivenOptions& given) {
    const std::uint32_t nodes = step.layout.node_count();
    if (nodes == 1) return std::nullopt;
    if (given.lacks("--no-ssh")) {
        return Misfit{{"deepspeed",
                       formatted("without --no_ssh each of the step's {} nodes would train alone, "
                                 "or start all of them again over ssh",
                                 nodes),
                       "write --no_ssh, with --hostfile, --node_rank and --master_addr, or use "
                       "--distgpu=deepspeed with a task for each GPU"},
                      true};
    }
    const GivenOption* const only = given.find("--include");
    if (only == nullptr || !only->value.value_or("").starts_with("localhost")) return std::nullopt;
    return Misfit{
        {formatted("deepspeed {}", only->text),
         formatted("each of the step's {} nodes would train alone", nodes), "leave it out"},
        true};
}

constexpr LauncherOptions deepspeed_launcher{
    .options = deepspeed_options,
    .flags =
        "--module --no-python --no-local-rank --no-ssh --no-ssh-check --force-multi "
        "--save-pid --elastic-training --bind-cores-to-rank -h --help",
    .judge = judge_deepspeed};

const Framework deepspeed_per_node{
    .mode = "deepspeed,per-node",
    .summary = "the deepspeed launcher with --no_ssh, one per node",
    .launcher_per_node = true,
    .launchers = words<"deepspeed", "python -m deepspeed.launcher.runner">,
    .launcher_options = &deepspeed_launcher,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

// Composer: one launcher per node, which nevertheless needs the size of the whole world.
// composer/cli/launcher.py (0.32) takes its options' defaults from these variables.

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
    {"--base-rank", Meaning::own_rank},
    {"--node-rank", Meaning::own_rank},
    {"--master-addr", Meaning::address},
    {"--master-port", Meaning::port},
});
constexpr LauncherOptions composer_launcher{
    .options = composer_options,
    .flags = "-v --verbose -m --module-mode -c --command-mode --version -h --help"};

// Each node computes the world from its own number of processes.
std::optional<Error> equal_nodes(const StepView& step) {
    if (auto refusal = one_task_per_node(step)) return refusal;
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
    .own_ranks = "Lightning takes its ranks from SLURM_PROCID",
    .instead_of_order = "use lightning,per-node with --ntasks-per-node=1, or leave it out",
    .sets = lightning_sets,
    .unsets = env_rendezvous_leftovers,
    .refuse = equal_tasks_per_node,
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
    .refuse = equal_nodes,
};

}  // namespace distgpu
