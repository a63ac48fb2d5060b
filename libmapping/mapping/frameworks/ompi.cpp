// Programs that read Open MPI's variables, as mpirun and Azure ML's MPI jobs set
// them, and MPI programs themselves, whose ranks come from PMIx, untouched.
// Source: Open MPI 4.1, orte/mca/schizo/ompi; the names of AZ_BATCH* are those of
// Azure Batch. `srun --mpi=pmix` sets none of them.
#include "base/values.h"
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {
namespace {

using namespace contract;

Value master_node(const TaskContext& task) {
    return host_and_port(task.master_address, task.master_port);
}

constexpr std::array sets{
    SetVariable{"OMPI_COMM_WORLD_SIZE", "number of tasks in the step", world_size},
    SetVariable{"OMPI_COMM_WORLD_RANK", "this task's number in the step, from 0", rank},
    SetVariable{"OMPI_COMM_WORLD_LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    SetVariable{"OMPI_COMM_WORLD_LOCAL_SIZE", "number of the step's tasks on this node",
                local_world_size},
    SetVariable{"OMPI_COMM_WORLD_NODE_RANK",
                "this task's number on its node, from 0: Open MPI's meaning, not the node's rank",
                local_rank},
    SetVariable{"OMPI_UNIVERSE_SIZE", "number of tasks in the step", world_size},
    SetVariable{"AZ_BATCH_MASTER_NODE", "MASTER_ADDR:MASTER_PORT", master_node},
    SetVariable{"AZ_BATCHAI_MPI_MASTER_NODE", "MASTER_ADDR", master_address},
    master_addr_variable,
    master_port_variable,
};

constexpr auto unsets = joined(
    std::array{
        UnsetVariable{"RANK", "the program takes its rank from OMPI_COMM_WORLD_RANK"},
        UnsetVariable{"LOCAL_RANK", "DeepSpeed compares it with OMPI_COMM_WORLD_LOCAL_RANK"},
        UnsetVariable{"WORLD_SIZE", "the program takes it from OMPI_COMM_WORLD_SIZE"},
        UnsetVariable{"LOCAL_WORLD_SIZE", "the program takes it from OMPI_COMM_WORLD_LOCAL_SIZE"},
        UnsetVariable{"NODE_RANK", "left over from an outer step"},
        UnsetVariable{"GROUP_RANK", "left over from an outer step"},
        UnsetVariable{"GROUP_WORLD_SIZE", "left over from an outer step"}},
    std::array{torchelastic_leftovers, torchrun_leftovers});

constexpr std::array<std::string_view, 1> aliases{"mpi"};

std::optional<Error> no_mpi(const StepView& step) {
    if (step.facts.mpi_type != "none") return std::nullopt;
    return Error{"--distgpu=ompi", "with --mpi=none, an MPI program fails in MPI_Init",
                 "use srun --mpi=pmix, unless the program only reads OMPI_COMM_WORLD_*"};
}

constexpr auto node_sets = joined(sets, std::array{hidden_slurm});

const Framework per_node{
    .mode = "ompi,per-node",
    .summary = "scripts that read OMPI_COMM_WORLD_* and start the node's processes themselves",
    .launcher_per_node = true,
    .for_cpus_too = true,
    .sets = node_sets,
    .unsets = unsets,
    .refuse = one_task_per_node,
};

constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};
constexpr std::array variants{Variant{"per-node", &per_node}};
// Open MPI's and PRRTE's, and those of MPICH and Intel MPI.
constexpr std::array<std::string_view, 5> replaces{"mpirun", "mpiexec", "orterun", "prterun",
                                                   "mpiexec.hydra"};

}  // namespace

const Framework ompi{
    .mode = "ompi",
    .summary = "MPI programs, and scripts that read OMPI_COMM_WORLD_*",
    .aliases = aliases,
    .keys = keys,
    .variants = variants,
    .replaces = replaces,
    .for_cpus_too = true,
    .own_ranks = "MPI numbers its processes itself",
    .sets = sets,
    .unsets = unsets,
    .warn = no_mpi,
};

}  // namespace distgpu
