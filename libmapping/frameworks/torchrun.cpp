// torchrun (and python -m torch.distributed.launch), one launcher per node.
// Source: torch/distributed/run.py takes every option from PET_<DEST> (torch 2.15);
// its static rendezvous needs the number of nodes, the node's rank and the
// address of rank 0's node, and ignores MASTER_ADDR itself.
#include "frameworks/common.h"
#include "frameworks/registry.h"

#include <distgpu/step_layout.h>

#include <array>

namespace distgpu {
namespace {

using namespace contract;

std::string processes(const TaskContext& task) {
    return fmt::to_string(task.processes_per_node);
}
std::string backend(const TaskContext& /*task*/) {
    return "static";
}
std::string step_name(const TaskContext& task) {
    return std::string(task.step_name);
}
std::string node_name(const TaskContext& task) {
    return std::string(task.node_name);
}

constexpr std::array sets{
    SetVariable{"PET_NNODES", "number of nodes in the step", node_count},
    SetVariable{"PET_NPROC_PER_NODE",
                "processes that the launcher starts here: nproc=N, else the node's GPUs in this "
                "step, else its CPUs",
                processes},
    SetVariable{"PET_NODE_RANK", "number of this node's task in the step, from 0", node_rank},
    SetVariable{"PET_MASTER_ADDR", "address of the node with PET_NODE_RANK 0", master_address},
    SetVariable{"PET_MASTER_PORT", "port on which that node serves the rendezvous", master_port},
    SetVariable{"PET_RDZV_BACKEND", "static: ranks follow NODE_RANK", backend},
    SetVariable{"PET_RDZV_ID", "JOBID.STEPID, the same on every node", step_name},
    SetVariable{"PET_LOCAL_ADDR", "this node's name", node_name},
    master_addr_variable,
    master_port_variable,
    node_rank_variable,
};

constexpr std::array unsets{
    UnsetVariable{"RANK", "the launcher owns the ranks"},
    UnsetVariable{"LOCAL_RANK", "the launcher owns the ranks"},
    UnsetVariable{"WORLD_SIZE", "the launcher owns the world size"},
    UnsetVariable{"LOCAL_WORLD_SIZE", "the launcher owns the local world size"},
    UnsetVariable{"GROUP_RANK", "the launcher owns the group rank"},
    UnsetVariable{"GROUP_WORLD_SIZE", "the launcher owns the group size"},
    torchelastic_leftovers,
    UnsetVariable{"PET_RDZV_ENDPOINT", "it wins over PET_MASTER_ADDR and hangs the rendezvous"},
    open_mpi_leftovers,
};

std::optional<Error> one_task_per_node(const StepLayout& layout) {
    if (layout.max_tasks_per_node() == 1) return std::nullopt;
    return Error{"--distgpu=torchrun",
                 fmt::format("{} tasks on a node, but torchrun is started once a node and starts "
                             "the processes itself",
                             layout.max_tasks_per_node()),
                 "use --ntasks-per-node=1, or --distgpu=pytorch and start the script without "
                 "torchrun"};
}

}  // namespace

const Framework torchrun{
    .mode = "torchrun",
    .summary = "torchrun or python -m torch.distributed.launch, one launcher per node",
    .launcher_per_node = true,
    .sets = sets,
    .unsets = unsets,
    .check_step = one_task_per_node,
};

}  // namespace distgpu
