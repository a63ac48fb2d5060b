// DeepSpeed. One process per task: deepspeed/comm/comm.py (0.19) is content with
// env:// and asks Azure ML, SageMaker or mpi4py only where one of its variables is
// missing. Once a node: its launcher, deepspeed/launcher/runner.py with --no_ssh.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};

constexpr std::array<std::string_view, 2> launchers{"deepspeed",
                                                    "python -m deepspeed.launcher.runner"};

const Framework per_node{
    .mode = "deepspeed,per-node",
    .summary = "the deepspeed launcher with --no_ssh, one per node",
    .launcher_per_node = true,
    .launchers = launchers,
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
