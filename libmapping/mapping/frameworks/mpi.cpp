// ompi: scripts that read Open MPI's variables, as set by mpirun and by Azure ML's MPI jobs, and
// MPI programs, whose ranks still come from PMIx. Source: Open MPI 4.1, orte/mca/schizo/ompi; the
// names AZ_BATCH* are Azure Batch's. `srun --mpi=pmix` sets none of them. Horovod: over MPI its
// ranks are MPI's; over Gloo it reads them from HOROVOD_*, and needs Horovod's key-value server at
// the rendezvous (horovod-rendezvous starts it). Source: horovod/common/operations.cc and
// gloo/gloo_context.cc (0.28).
#include "mapping/frameworks/common.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr auto sets = std::to_array<SetVariable>({
    {"OMPI_COMM_WORLD_SIZE", "number of tasks in the step", world_size},
    {"OMPI_COMM_WORLD_RANK", "this task's number in the step, from 0", rank},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "number of the step's tasks on this node", local_world_size},
    {"OMPI_COMM_WORLD_NODE_RANK",
     "this task's number on its node, from 0: Open MPI's meaning, not the node's rank", local_rank},
    {"OMPI_UNIVERSE_SIZE", "number of tasks in the step", world_size},
    {"AZ_BATCH_MASTER_NODE", "MASTER_ADDR:MASTER_PORT", master_endpoint},
    {"AZ_BATCHAI_MPI_MASTER_NODE", "MASTER_ADDR", master_address},
    master_addr_variable,
    master_port_variable,
});

constexpr auto unsets =
    joined(std::to_array<UnsetVariable>(
               {{"RANK", "the program takes its rank from OMPI_COMM_WORLD_RANK"},
                {"LOCAL_RANK", "DeepSpeed compares it with OMPI_COMM_WORLD_LOCAL_RANK"},
                {"WORLD_SIZE", "the program takes it from OMPI_COMM_WORLD_SIZE"},
                {"LOCAL_WORLD_SIZE", "the program takes it from OMPI_COMM_WORLD_LOCAL_SIZE"},
                {"NODE_RANK", "left over from an outer step"},
                {"GROUP_RANK", "left over from an outer step"},
                {"GROUP_WORLD_SIZE", "left over from an outer step"}}),
           std::array{torchelastic_leftovers, torchrun_leftovers});

std::optional<Error> warn_without_mpi(const StepView& step) {
    if (step.facts.mpi_type != "none") return std::nullopt;
    return Error{"--distgpu=ompi", "with --mpi=none, an MPI program fails in MPI_Init",
                 "use srun --mpi=pmix, unless the program only reads OMPI_COMM_WORLD_*"};
}

constexpr auto node_sets = joined(sets, std::array{hide_slurm_variable});

const Framework per_node{
    .mode = "ompi,per-node",
    .summary = "scripts that read OMPI_COMM_WORLD_* and start the node's processes themselves",
    .launcher_per_node = true,
    .also_for_cpus = true,
    .sets = node_sets,
    .unsets = unsets,
    .refuse = refuse_several_tasks,
};

// Counts the tasks with this task's local rank and a rank below `end`. They form Horovod's "cross"
// communicator, in the order of their ranks (mpi_context.cc, MPI_Comm_split).
std::uint32_t count_cross_tasks(const TaskContext& task, GlobalRank end) {
    const StepLayout& layout = task.step->layout;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        const bool has_task = layout.tasks_on(node) > task.local_rank.value;
        if (has_task && layout.rank(node, task.local_rank).value < end.value) ++count;
    }
    return count;
}
Value cross_rank(const TaskContext& task) {
    return std::to_string(count_cross_tasks(task, task.rank));
}
Value cross_size(const TaskContext& task) {
    return std::to_string(count_cross_tasks(task, GlobalRank{task.step->layout.task_count()}));
}

constexpr auto mpi_sets = std::to_array<SetVariable>({
    {"HOROVOD_CONTROLLER", "mpi: MPI provides the ranks", constant<"mpi">},
});
constexpr auto mpi_unsets = std::to_array<UnsetVariable>({
    {"HOROVOD_RANK", "MPI provides the rank"},
    {"HOROVOD_SIZE", "MPI provides the size"},
    {"HOROVOD_LOCAL_RANK", "MPI provides the rank"},
    {"HOROVOD_LOCAL_SIZE", "MPI provides the size"},
    {"HOROVOD_CROSS_RANK", "MPI provides the rank"},
    {"HOROVOD_CROSS_SIZE", "MPI provides the size"},
    {"HOROVOD_CPU_OPERATIONS", "gloo here would end every MPI rank with a segmentation fault"},
    {"HOROVOD_HOSTNAME", "left over from an outer launcher"},
    {"HOROVOD_GLOO_RENDEZVOUS_*", "left over from an outer launcher's server"},
});

constexpr auto gloo_sets = std::to_array<SetVariable>({
    {"HOROVOD_CONTROLLER", "gloo: the ranks are those below", constant<"gloo">},
    {"HOROVOD_CPU_OPERATIONS", "gloo: no MPI for tensors in host memory", constant<"gloo">},
    {"HOROVOD_RANK", "this task's rank, from 0: its SLURM_PROCID, unless `order=` is given", rank},
    {"HOROVOD_SIZE", "number of tasks in the step", world_size},
    {"HOROVOD_LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    {"HOROVOD_LOCAL_SIZE", "number of the step's tasks on this node", local_world_size},
    {"HOROVOD_CROSS_RANK", "this task's number, from 0, among the tasks with its local rank",
     cross_rank},
    {"HOROVOD_CROSS_SIZE", "number of tasks with this local rank", cross_size},
    {"HOROVOD_HOSTNAME", "this node's name", value_of<&TaskContext::node_name>},
    {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "address of the node that runs rank 0", master_address},
    {"HOROVOD_GLOO_RENDEZVOUS_PORT", "port of Horovod's key-value server there", master_port},
});

std::optional<Error> refuse_without_mpi(const StepView& step) {
    if (step.facts.mpi_type != "none") return std::nullopt;
    return Error{"--distgpu=horovod",
                 "Horovod takes its ranks from MPI, but --mpi=none provides no MPI",
                 "use srun --mpi=pmix, or --distgpu=horovod,backend=gloo"};
}

const Framework over_gloo{
    .mode = "horovod,backend=gloo",
    .summary = "Horovod over Gloo, one process per task, started by horovod-rendezvous",
    .one_gpu_per_task = true,
    .sets = gloo_sets,
};

constexpr auto horovod_variants =
    std::to_array<Variant>({{"backend=mpi", &horovod}, {"backend=gloo", &over_gloo}});

}  // namespace

const Framework ompi{
    .mode = "ompi",
    .summary = "MPI programs, and scripts that read OMPI_COMM_WORLD_*",
    .aliases = words<"mpi">,
    .keys = per_node_keys,
    .variants = per_node_variant<per_node>,
    // Those of Open MPI, PRRTE, MPICH and Intel MPI.
    .replaced_launchers = words<"mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra">,
    .also_for_cpus = true,
    .fixed_ranks_reason = "MPI numbers its processes itself",
    .sets = sets,
    .unsets = unsets,
    .warn = warn_without_mpi,
};

const Framework horovod{
    .mode = "horovod",
    .summary = "Horovod over MPI, one process per task",
    .keys = words<"backend">,
    .variants = horovod_variants,
    .replaced_launchers = words<"horovodrun">,
    .one_gpu_per_task = true,
    .ports = 0,
    .fixed_ranks_reason = "Horovod takes its ranks from MPI",
    .order_remedy = "use horovod,backend=gloo, or leave it out",
    .sets = mpi_sets,
    .unsets = mpi_unsets,
    .refuse = refuse_without_mpi,
};

}  // namespace distgpu
