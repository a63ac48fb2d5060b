// Hugging Face Accelerate, and the Trainer of Transformers, which is built on it.
// Source: accelerate/state.py is distributed where LOCAL_RANK is set and then uses
// env://; `accelerate launch` (commands/launch.py, 1.15) takes the machine's rank
// from its command line alone.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launcher_options.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::array<std::string_view, 1> aliases{"transformers"};
constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};

constexpr std::array<std::string_view, 3> launchers{"accelerate launch", "accelerate-launch",
                                                    "python -m accelerate.commands.launch"};

constexpr std::string_view machines = "--num-machines";
constexpr std::string_view configuration = "--config-file";
constexpr std::string_view below_deepspeed = "--deepspeed-multinode-launcher";

constexpr std::array options{
    LauncherOption{machines, OptionMeaning::nodes, {}, "--num_machines $SLURM_NNODES"},
    LauncherOption{"--num-processes",
                   OptionMeaning::processes_in_all,
                   {},
                   "--num_processes with the number of all GPUs of the step"},
    LauncherOption{"--machine-rank",
                   OptionMeaning::own_rank,
                   {},
                   "--machine_rank $NODE_RANK within bash -c '...'"},
    LauncherOption{"--main-process-ip",
                   OptionMeaning::address,
                   {},
                   "--main_process_ip $MASTER_ADDR within bash -c '...'"},
    LauncherOption{"--main-process-port",
                   OptionMeaning::port,
                   {},
                   "--main_process_port $MASTER_PORT within bash -c '...'"},
    LauncherOption{configuration, OptionMeaning::others},
    LauncherOption{below_deepspeed, OptionMeaning::others},
};

// It takes nothing of this from variables; without the options, a file in the user's home may have
// it, the same for all nodes.
std::optional<Misfit> judge(const StepView& step, const GivenOptions& given) {
    const std::uint32_t nodes = step.layout.node_count();
    if (nodes == 1) return std::nullopt;
    if (given.lacks(machines) && given.lacks(configuration)) {
        return Misfit{{"accelerate launch",
                       formatted("without --num_machines each of the step's {} nodes trains alone, "
                                 "unless a configuration file says otherwise",
                                 nodes),
                       "write bash -c 'accelerate launch --num_machines $SLURM_NNODES "
                       "--machine_rank $NODE_RANK --main_process_ip $MASTER_ADDR "
                       "--main_process_port $MASTER_PORT ...', or use --distgpu=accelerate with a "
                       "task for each GPU"}};
    }
    const GivenOption* const other = given.find(below_deepspeed);
    const bool starts_here = other == nullptr || !other->value || *other->value == "standard" ||
                             *other->value == "nossh";
    if (starts_here) return std::nullopt;
    return Misfit{{formatted("accelerate launch {}", other->text),
                   "each node's launcher would start the processes of all nodes",
                   "use --deepspeed_multinode_launcher standard"},
                  true};
}

constexpr LauncherOptions launcher{
    .options = options,
    .flags =
        "--quiet -q --cpu --multi-gpu --tpu --ipex --use-xpu --enable-cpu-affinity "
        "--dynamo-use-fullgraph --dynamo-use-dynamic --dynamo-use-regional-compilation "
        "--use-deepspeed --use-fsdp --use-parallelism-config --use-megatron-lm --same-network "
        "-m --module --no-python --tpu-cluster --no-tpu-cluster --tpu-use-sudo "
        "--downcast-bf16 --fp8-use-autocast-during-eval --debug -h --help",
    .abbreviated = false,
    .judge = judge};

const Framework per_node{
    .mode = "accelerate,per-node",
    .summary = "accelerate launch, one launcher per node",
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &launcher,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

constexpr std::array variants{Variant{"per-node", &per_node}};

}  // namespace

const Framework accelerate{
    .mode = "accelerate",
    .summary = "Hugging Face Accelerate and Trainer, one process per task",
    .aliases = aliases,
    .keys = keys,
    .variants = variants,
    .one_gpu_per_task = true,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

}  // namespace distgpu
