// PyTorch, one process per task: torch.distributed's env:// rendezvous.
// Source: torch/distributed/rendezvous.py reads RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT; scripts written for torchrun read the others as well (torch 2.15).
#include "frameworks/common.h"
#include "frameworks/registry.h"

#include <array>

namespace distgpu {
namespace {

using namespace contract;

constexpr std::array sets{
    master_addr_variable,
    master_port_variable,
    SetVariable{"WORLD_SIZE", "number of tasks in the step", world_size},
    SetVariable{"RANK", "this task's number in the step, from 0", rank},
    SetVariable{"LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    SetVariable{"LOCAL_WORLD_SIZE", "number of the step's tasks on this node", local_world_size},
    node_rank_variable,
    SetVariable{"GROUP_RANK", "torchrun's word for NODE_RANK", node_rank},
    SetVariable{"GROUP_WORLD_SIZE", "number of nodes in the step", node_count},
};

constexpr std::array unsets{
    torchelastic_leftovers,
    UnsetVariable{"PET_*", "a launcher started inside the task would take them for its own"},
    open_mpi_leftovers,
};

}  // namespace

const Framework pytorch{
    .mode = "pytorch",
    .summary = "PyTorch (torch.distributed, DistributedDataParallel), one process per task",
    .sets = sets,
    .unsets = unsets,
};

}  // namespace distgpu
