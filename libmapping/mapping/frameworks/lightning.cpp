// Lightning. One process per task: its SLURMEnvironment takes the ranks from
// SLURM_*, and of ours only the address, the port and SLURM_NTASKS_PER_NODE
// (lightning/fabric/plugins/environments/slurm.py, 2.6). Once a node: its
// LightningEnvironment starts a process for each device, unless LOCAL_RANK is set.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launcher_options.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

using namespace contract;

// A job of one of these names is one in which the user types: Lightning does not take
// its ranks from Slurm there, and numbers them node by node instead.
Value visible_job_name(const TaskContext& task) {
    const std::string& name = task.step->facts.job_name;
    if (name != "bash" && name != "interactive") return std::nullopt;
    return "lightning";
}

constexpr auto task_sets = joined(
    env_rendezvous,
    std::array{SetVariable{"SLURM_NTASKS_PER_NODE",
                           "number of the step's tasks on this node, which Lightning compares with "
                           "its devices and Slurm sets only for --ntasks-per-node",
                           local_world_size},
               SetVariable{"SLURM_JOB_NAME",
                           "`lightning` in a job named `bash` or `interactive`, in which Lightning "
                           "would ignore Slurm; otherwise left alone",
                           visible_job_name}});

std::optional<Error> equal_tasks_per_node(const StepView& step) {
    const StepLayout& layout = step.layout;
    if (layout.min_tasks_per_node() == layout.max_tasks_per_node()) return std::nullopt;
    return Error{
        "--distgpu=lightning",
        formatted(
            "the nodes have {} to {} tasks, but Lightning needs the same number on every node",
            layout.min_tasks_per_node(), layout.max_tasks_per_node()),
        "use --ntasks-per-node=N"};
}

constexpr auto node_sets = joined(node_rendezvous, std::array{hidden_slurm});
constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};

// Fabric's command line, which is torchrun with options of its own (lightning/fabric/cli.py, 2.6).
constexpr std::array<std::string_view, 4> launchers{"fabric run", "lightning run",
                                                    "python -m lightning.fabric.cli run",
                                                    "python -m lightning_fabric.cli run"};

constexpr std::string_view nodes_option = "--num-nodes";

constexpr std::array options{
    LauncherOption{nodes_option, OptionMeaning::nodes, {}, "--num-nodes $SLURM_NNODES"},
    LauncherOption{"--devices", OptionMeaning::processes},
    LauncherOption{
        "--node-rank", OptionMeaning::own_rank, {}, "--node-rank $NODE_RANK within bash -c '...'"},
    LauncherOption{"--main-address",
                   OptionMeaning::address,
                   {},
                   "--main-address $MASTER_ADDR within bash -c '...'"},
    LauncherOption{
        "--main-port", OptionMeaning::port, {}, "--main-port $MASTER_PORT within bash -c '...'"},
};

std::optional<Misfit> judge(const StepView& step, const GivenOptions& given) {
    if (step.layout.node_count() == 1 || !given.lacks(nodes_option)) return std::nullopt;
    return Misfit{{"fabric run",
                   formatted("without --num-nodes each of the step's {} nodes would train alone",
                             step.layout.node_count()),
                   "write bash -c 'fabric run --num-nodes $SLURM_NNODES --node-rank $NODE_RANK "
                   "--main-address $MASTER_ADDR --main-port $MASTER_PORT ...', or use "
                   "--distgpu=lightning with a task for each GPU"},
                  true};
}

constexpr LauncherOptions launcher{.options = options,
                                   .flags = "--help",
                                   .abbreviated = false,
                                   .behind_the_script = true,
                                   .judge = judge};

const Framework per_node{
    .mode = "lightning,per-node",
    .summary = "Lightning, one task per node: the Trainer starts a process for each device",
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &launcher,
    .scripts_launch = true,
    .sets = node_sets,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

constexpr std::array variants{Variant{"per-node", &per_node}};

}  // namespace

const Framework lightning{
    .mode = "lightning",
    .summary = "PyTorch Lightning, one process per task",
    .keys = keys,
    .variants = variants,
    .one_gpu_per_task = true,
    .own_ranks = "Lightning takes its ranks from SLURM_PROCID",
    .instead_of_order = "use lightning,per-node with --ntasks-per-node=1, or leave it out",
    .sets = task_sets,
    .unsets = env_rendezvous_leftovers,
    .refuse = equal_tasks_per_node,
};

}  // namespace distgpu
