// Values, inherited variables and refusals that several frameworks share.
#pragma once

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/request/request.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace distgpu::contract {

using Value = std::optional<std::string>;

// One table out of several.
template <class Row, std::size_t... Sizes>
constexpr auto joined(const std::array<Row, Sizes>&... tables) {
    std::array<Row, (Sizes + ...)> all{};
    std::size_t end = 0;
    const auto append = [&](const auto& table) {
        for (const Row& row : table) all[end++] = row;
    };
    (append(tables), ...);
    return all;
}

inline Value rank(const TaskContext& task) {
    return std::to_string(task.rank.value);
}
inline Value world_size(const TaskContext& task) {
    return std::to_string(task.world_size);
}
inline Value local_rank(const TaskContext& task) {
    return std::to_string(task.local_rank.value);
}
inline Value local_world_size(const TaskContext& task) {
    return std::to_string(task.local_world_size);
}
inline Value node_rank(const TaskContext& task) {
    return std::to_string(task.node_rank.value);
}
inline Value node_count(const TaskContext& task) {
    return std::to_string(task.node_count);
}
inline Value processes(const TaskContext& task) {
    return std::to_string(task.processes_per_node);
}
inline Value master_address(const TaskContext& task) {
    return std::string(task.master_address);
}
inline Value master_port(const TaskContext& task) {
    return std::to_string(task.master_port);
}

inline constexpr SetVariable master_addr_variable{
    "MASTER_ADDR", "address of the node that runs rank 0", master_address};
inline constexpr SetVariable master_port_variable{
    "MASTER_PORT", "port on which rank 0 serves the rendezvous", master_port};
inline constexpr SetVariable node_rank_variable{
    "NODE_RANK", "this node's number, from 0, counted by the nodes' lowest ranks", node_rank};

// Lightning's own switch: it does not look for Slurm in a job of this name
// (lightning/fabric/plugins/environments/slurm.py, 2.6).
inline Value interactive(const TaskContext& /*task*/) {
    return "interactive";
}
inline constexpr SetVariable hidden_slurm{
    "SLURM_JOB_NAME",
    "hides Slurm from Lightning, which would mistake this task for the only process of its node",
    interactive};

// torch.distributed's env:// rendezvous: torch/distributed/rendezvous.py reads RANK,
// WORLD_SIZE, MASTER_ADDR and MASTER_PORT; scripts written for torchrun read the
// others as well (torch 2.15).
inline constexpr std::array env_rendezvous{
    master_addr_variable,
    master_port_variable,
    SetVariable{"WORLD_SIZE", "number of tasks in the step", world_size},
    SetVariable{"RANK", "this task's rank, from 0: its SLURM_PROCID, unless `order=` is given",
                rank},
    SetVariable{"LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    SetVariable{"LOCAL_WORLD_SIZE", "number of the step's tasks on this node", local_world_size},
    node_rank_variable,
    SetVariable{"GROUP_RANK", "torchrun's name for NODE_RANK", node_rank},
    SetVariable{"GROUP_WORLD_SIZE", "number of nodes in the step", node_count},
};

// torch/distributed/elastic sets TORCHELASTIC_*; rendezvous.py makes every rank
// a client of a store that nobody serves when TORCHELASTIC_USE_AGENT_STORE leaks.
inline constexpr UnsetVariable torchelastic_leftovers{
    "TORCHELASTIC_*", "every rank would wait for an outer torchrun's store"};
inline constexpr UnsetVariable torchrun_leftovers{
    "PET_*", "a launcher started inside the task would use them as its own"};
// Accelerate (utils/environment.py) takes OMPI_COMM_WORLD_SIZE for a launch by mpirun,
// DeepSpeed (comm/comm.py) asserts that both local ranks agree.
inline constexpr UnsetVariable open_mpi_leftovers{
    "OMPI_COMM_WORLD_*", "the ranks of an outer mpirun would override this step's"};

inline constexpr std::array env_rendezvous_leftovers{
    torchelastic_leftovers,
    torchrun_leftovers,
    open_mpi_leftovers,
};

// What a launcher sets for the processes that it starts.
inline constexpr std::array launcher_owned{
    UnsetVariable{"RANK", "the launcher owns the ranks"},
    UnsetVariable{"LOCAL_RANK", "the launcher owns the ranks"},
    UnsetVariable{"WORLD_SIZE", "the launcher owns the world size"},
    UnsetVariable{"LOCAL_WORLD_SIZE", "the launcher owns the local world size"},
    UnsetVariable{"GROUP_RANK", "the launcher owns the group rank"},
    UnsetVariable{"GROUP_WORLD_SIZE", "the launcher owns the group size"},
};

// The same for a launcher that takes nothing from PET_*.
inline constexpr auto launcher_unsets = joined(launcher_owned, env_rendezvous_leftovers);

// What a launcher needs to know of its node.
inline constexpr std::array node_rendezvous{
    master_addr_variable,
    master_port_variable,
    node_rank_variable,
};

// Refuses more than one task on a node: the launcher starts the processes itself.
// The options of srun for one task on each node, whatever else it has or inherits.
std::string one_task_each(const StepView& step);

std::optional<Error> one_task_per_node(const StepView& step);

}  // namespace distgpu::contract
