// JAX: jax.distributed.initialize() reads the number of processes and the rank from SLURM_*, and
// assumes that rank 0 runs on the first node of the list.
// Source: jax/_src/distributed.py and clusters/slurm_cluster.py (0.10).
#include "mapping/frameworks/common.h"

namespace distgpu {
namespace {

using namespace contract;

// An even share of the visible GPUs in order. A task that sees one GPU uses number 0.
Value local_devices(const TaskContext& task) {
    if (task.gpus == 0) return std::nullopt;
    const std::uint64_t local = task.local_rank.value;
    if (task.gpus <= task.local_world_size) return std::to_string(local % task.gpus);
    std::string list;
    const std::uint64_t end = (local + 1) * task.gpus / task.local_world_size;
    for (std::uint64_t gpu = local * task.gpus / task.local_world_size; gpu < end; ++gpu) {
        list += formatted("{}{}", list.empty() ? "" : ",", gpu);
    }
    return list;
}

constexpr auto sets = std::to_array<SetVariable>({
    {"JAX_COORDINATOR_ADDRESS", "address and port of rank 0", master_endpoint},
    {"JAX_LOCAL_DEVICE_IDS", "this task's share of the GPUs that it sees; not set if there is none",
     local_devices},
    master_addr_variable,
    master_port_variable,
});

constexpr auto unsets = std::to_array<UnsetVariable>({
    {"OMPI_MCA_orte_hnp_uri", "JAX would use an outer mpirun's ranks"},
    {"JAX_COORDINATOR_PORT", "the address has the port"},
});

}  // namespace

const Framework jax{
    .mode = "jax",
    .summary = "JAX (jax.distributed), any number of GPUs per task",
    .fixed_ranks_reason = "JAX takes its ranks from SLURM_PROCID",
    .sets = sets,
    .unsets = unsets,
};

}  // namespace distgpu
