// Variables, values and refusals that several frameworks share.
#pragma once

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/request/request.h"

#include <array>

namespace distgpu::contract {

using Value = std::optional<std::string>;

// Concatenates tables.
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

// A value that is the same for every task.
template <Literal literal>
Value constant(const TaskContext& /*task*/) {
    return literal.text.data();
}

// A list of texts.
template <Literal... each>
inline constexpr std::array<Text, sizeof...(each)> words{each.text.data()...};

// The value of a field of the task's context.
template <auto field>
Value value_of(const TaskContext& task) {
    const auto& value = task.*field;
    if constexpr (requires { value.value; }) {
        return std::to_string(value.value);
    } else if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
        return std::to_string(value);
    } else {
        return std::string(value);
    }
}

inline constexpr auto rank = value_of<&TaskContext::rank>;
inline constexpr auto world_size = value_of<&TaskContext::world_size>;
inline constexpr auto local_rank = value_of<&TaskContext::local_rank>;
inline constexpr auto local_world_size = value_of<&TaskContext::local_world_size>;
inline constexpr auto node_rank = value_of<&TaskContext::node_rank>;
inline constexpr auto node_count = value_of<&TaskContext::node_count>;
inline constexpr auto processes = value_of<&TaskContext::processes_per_node>;
inline constexpr auto master_address = value_of<&TaskContext::master_address>;
inline constexpr auto master_port = value_of<&TaskContext::master_port>;

inline Value master_endpoint(const TaskContext& task) {
    return host_and_port(task.master_address, task.master_port);
}

// The keys of a mode whose own launcher may run once per node instead, and the record for that.
inline constexpr auto per_node_keys = words<"per-node", "nproc">;
template <const Framework& launcher>
inline constexpr std::array per_node_variant{Variant{"per-node", &launcher}};

inline constexpr SetVariable master_addr_variable{
    "MASTER_ADDR", "address of the node that runs rank 0", master_address};
inline constexpr SetVariable master_port_variable{
    "MASTER_PORT", "port on which rank 0 serves the rendezvous", master_port};
inline constexpr SetVariable node_rank_variable{
    "NODE_RANK", "this node's number, from 0, counted by the nodes' lowest ranks", node_rank};

// Lightning ignores Slurm in a job of this name (lightning/fabric/plugins/environments/slurm.py,
// 2.6).
inline constexpr SetVariable hide_slurm_variable{
    "SLURM_JOB_NAME",
    "hides Slurm from Lightning, which would mistake this task for the only process of its node",
    constant<"interactive">};

// torch.distributed's env:// rendezvous: torch/distributed/rendezvous.py reads RANK, WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT; scripts written for torchrun read the others as well (torch 2.15).
inline constexpr auto env_rendezvous = std::to_array<SetVariable>({
    master_addr_variable,
    master_port_variable,
    {"WORLD_SIZE", "number of tasks in the step", world_size},
    {"RANK", "this task's rank, from 0: its SLURM_PROCID, unless `order=` is given", rank},
    {"LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    {"LOCAL_WORLD_SIZE", "number of the step's tasks on this node", local_world_size},
    node_rank_variable,
    {"GROUP_RANK", "torchrun's name for NODE_RANK", node_rank},
    {"GROUP_WORLD_SIZE", "number of nodes in the step", node_count},
});

// torch/distributed/elastic sets TORCHELASTIC_*. If TORCHELASTIC_USE_AGENT_STORE is inherited,
// rendezvous.py makes every rank a client of a store that no process serves.
inline constexpr UnsetVariable torchelastic_leftovers{
    "TORCHELASTIC_*", "every rank would wait for an outer torchrun's store"};
inline constexpr UnsetVariable torchrun_leftovers{
    "PET_*", "a launcher started inside the task would use them as its own"};
// Accelerate (utils/environment.py) takes OMPI_COMM_WORLD_SIZE as a sign of mpirun, DeepSpeed
// (comm/comm.py) asserts that both local ranks agree.
inline constexpr UnsetVariable open_mpi_leftovers{
    "OMPI_COMM_WORLD_*", "the ranks of an outer mpirun would override this step's"};

inline constexpr std::array env_rendezvous_leftovers{
    torchelastic_leftovers,
    torchrun_leftovers,
    open_mpi_leftovers,
};

// Variables that a launcher sets for the processes that it starts.
inline constexpr auto launcher_owned = std::to_array<UnsetVariable>({
    {"RANK", "the launcher owns the ranks"},
    {"LOCAL_RANK", "the launcher owns the ranks"},
    {"WORLD_SIZE", "the launcher owns the world size"},
    {"LOCAL_WORLD_SIZE", "the launcher owns the local world size"},
    {"GROUP_RANK", "the launcher owns the group rank"},
    {"GROUP_WORLD_SIZE", "the launcher owns the group size"},
});

// The variables to unset for a launcher that does not read PET_*.
inline constexpr auto launcher_unsets = joined(launcher_owned, env_rendezvous_leftovers);

// Variables from which a launcher gets the rendezvous and the rank of its node.
inline constexpr std::array node_rendezvous{
    master_addr_variable,
    master_port_variable,
    node_rank_variable,
};

// The options of srun for one task on each node, whatever its command line or the job has.
std::string one_task_options(const StepView& step);

// Refuses several tasks on a node, for modes whose launcher starts the processes itself.
std::optional<Error> refuse_several_tasks(const StepView& step);

}  // namespace distgpu::contract
