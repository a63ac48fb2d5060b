// DeepSpeed. One process per task: deepspeed/comm/comm.py (0.19) is content with
// env:// and asks Azure ML, SageMaker or mpi4py only where one of its variables is
// missing. Once a node: its launcher, deepspeed/launcher/runner.py with --no_ssh.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launcher_options.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};

constexpr std::array<std::string_view, 2> launchers{"deepspeed",
                                                    "python -m deepspeed.launcher.runner"};

constexpr std::string_view no_ssh = "--no-ssh";
constexpr std::string_view include = "--include";

constexpr std::array options{
    LauncherOption{"--num-nodes", OptionMeaning::nodes, {}, "--num_nodes $SLURM_NNODES"},
    LauncherOption{"--num-gpus", OptionMeaning::processes},
    LauncherOption{"--num-accelerators", OptionMeaning::processes},
    LauncherOption{
        "--node-rank", OptionMeaning::own_rank, {}, "--node_rank $NODE_RANK within bash -c '...'"},
    LauncherOption{"--master-addr",
                   OptionMeaning::address,
                   {},
                   "--master_addr $MASTER_ADDR within bash -c '...'"},
    LauncherOption{"--master-port",
                   OptionMeaning::port,
                   {},
                   "--master_port $MASTER_PORT within bash -c '...'"},
    LauncherOption{include, OptionMeaning::others, "-i"},
    LauncherOption{no_ssh, OptionMeaning::others},
};

// Without --no_ssh it starts the nodes of its hostfile over ssh, or its own node's processes where
// it finds none (launcher/runner.py).
std::optional<Misfit> judge(const StepView& step, const GivenOptions& given) {
    const std::uint32_t nodes = step.layout.node_count();
    if (nodes == 1) return std::nullopt;
    if (given.lacks(no_ssh)) {
        return Misfit{{"deepspeed",
                       formatted("without --no_ssh each of the step's {} nodes would train alone, "
                                 "or start all of them again over ssh",
                                 nodes),
                       "write --no_ssh, with --hostfile, --node_rank and --master_addr, or use "
                       "--distgpu=deepspeed with a task for each GPU"},
                      true};
    }
    const GivenOption* const only = given.find(include);
    if (only == nullptr || !only->value || !only->value->starts_with("localhost")) {
        return std::nullopt;
    }
    return Misfit{
        {formatted("deepspeed {}", only->text),
         formatted("each of the step's {} nodes would train alone", nodes), "leave it out"},
        true};
}

constexpr LauncherOptions launcher{
    .options = options,
    .flags =
        "--module --no-python --no-local-rank --no-ssh --no-ssh-check --force-multi "
        "--save-pid --elastic-training --bind-cores-to-rank -h --help",
    .judge = judge};

const Framework per_node{
    .mode = "deepspeed,per-node",
    .summary = "the deepspeed launcher with --no_ssh, one per node",
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &launcher,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

constexpr std::array variants{Variant{"per-node", &per_node}};

}  // namespace

const Framework deepspeed{
    .mode = "deepspeed",
    .summary = "DeepSpeed, one process per task",
    .keys = keys,
    .variants = variants,
    .one_gpu_per_task = true,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

}  // namespace distgpu
