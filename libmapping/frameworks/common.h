// Values and inherited variables that several frameworks share.
#pragma once

#include <distgpu/framework.h>

#include <fmt/format.h>

#include <string>

namespace distgpu::contract {

inline std::string rank(const TaskContext& task) {
    return fmt::to_string(task.rank.value);
}
inline std::string world_size(const TaskContext& task) {
    return fmt::to_string(task.world_size);
}
inline std::string local_rank(const TaskContext& task) {
    return fmt::to_string(task.local_rank.value);
}
inline std::string local_world_size(const TaskContext& task) {
    return fmt::to_string(task.local_world_size);
}
inline std::string node_rank(const TaskContext& task) {
    return fmt::to_string(task.node_rank.value);
}
inline std::string node_count(const TaskContext& task) {
    return fmt::to_string(task.node_count);
}
inline std::string master_address(const TaskContext& task) {
    return std::string(task.master_address);
}
inline std::string master_port(const TaskContext& task) {
    return fmt::to_string(task.master_port);
}

inline constexpr SetVariable master_addr_variable{
    "MASTER_ADDR", "address of the node that runs rank 0", master_address};
inline constexpr SetVariable master_port_variable{
    "MASTER_PORT", "port on which rank 0 serves the rendezvous", master_port};
inline constexpr SetVariable node_rank_variable{
    "NODE_RANK", "this node's number in the step, from 0", node_rank};

// torch/distributed/elastic sets TORCHELASTIC_*; rendezvous.py makes every rank
// a client of a store that nobody serves when TORCHELASTIC_USE_AGENT_STORE leaks.
inline constexpr UnsetVariable torchelastic_leftovers{
    "TORCHELASTIC_*", "every rank would wait for an outer torchrun's store"};
// Accelerate (utils/environment.py) reads OMPI_COMM_WORLD_SIZE before WORLD_SIZE.
inline constexpr UnsetVariable open_mpi_leftovers{
    "OMPI_COMM_WORLD_*", "ranks of an outer mpirun would win over this step's"};

}  // namespace distgpu::contract
