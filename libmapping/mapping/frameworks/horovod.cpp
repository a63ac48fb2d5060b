// Horovod. Over MPI its ranks are MPI's; over Gloo it takes them from HOROVOD_*,
// and needs Horovod's own key-value server at the rendezvous (horovod-rendezvous
// starts it). Source: horovod/common/operations.cc and gloo/gloo_context.cc (0.28).
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

using namespace contract;

// Horovod's "cross" communicator joins the tasks that have the same local rank, one on each node
// that has so many tasks, in the order of their ranks (mpi_context.cc, MPI_Comm_split). Counts
// those before `end`.
std::uint32_t tasks_alike(const TaskContext& task, GlobalRank end) {
    const StepLayout& layout = task.step->layout;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        const bool has_one = layout.tasks_on(node) > task.local_rank.value;
        if (has_one && layout.rank(node, task.local_rank).value < end.value) ++count;
    }
    return count;
}
Value cross_rank(const TaskContext& task) {
    return std::to_string(tasks_alike(task, task.rank));
}
Value cross_size(const TaskContext& task) {
    return std::to_string(tasks_alike(task, GlobalRank{task.step->layout.task_count()}));
}
Value node_name(const TaskContext& task) {
    return std::string(task.node_name);
}
Value mpi(const TaskContext& /*task*/) {
    return "mpi";
}
Value gloo(const TaskContext& /*task*/) {
    return "gloo";
}

constexpr std::array mpi_sets{
    SetVariable{"HOROVOD_CONTROLLER", "mpi: MPI provides the ranks", mpi},
};
constexpr std::array mpi_unsets{
    UnsetVariable{"HOROVOD_RANK", "MPI provides the rank"},
    UnsetVariable{"HOROVOD_SIZE", "MPI provides the size"},
    UnsetVariable{"HOROVOD_LOCAL_RANK", "MPI provides the rank"},
    UnsetVariable{"HOROVOD_LOCAL_SIZE", "MPI provides the size"},
    UnsetVariable{"HOROVOD_CROSS_RANK", "MPI provides the rank"},
    UnsetVariable{"HOROVOD_CROSS_SIZE", "MPI provides the size"},
    UnsetVariable{"HOROVOD_CPU_OPERATIONS",
                  "gloo here would end every MPI rank with a segmentation fault"},
    UnsetVariable{"HOROVOD_HOSTNAME", "left over from an outer launcher"},
    UnsetVariable{"HOROVOD_GLOO_RENDEZVOUS_*", "left over from an outer launcher's server"},
};

constexpr std::array gloo_sets{
    SetVariable{"HOROVOD_CONTROLLER", "gloo: the ranks are those below", gloo},
    SetVariable{"HOROVOD_CPU_OPERATIONS", "gloo: no MPI for tensors in host memory", gloo},
    SetVariable{"HOROVOD_RANK",
                "this task's rank, from 0: its SLURM_PROCID, unless `order=` is given", rank},
    SetVariable{"HOROVOD_SIZE", "number of tasks in the step", world_size},
    SetVariable{"HOROVOD_LOCAL_RANK", "this task's number on its node, from 0", local_rank},
    SetVariable{"HOROVOD_LOCAL_SIZE", "number of the step's tasks on this node", local_world_size},
    SetVariable{"HOROVOD_CROSS_RANK",
                "this task's number, from 0, among the tasks with its local rank", cross_rank},
    SetVariable{"HOROVOD_CROSS_SIZE", "number of tasks with this local rank", cross_size},
    SetVariable{"HOROVOD_HOSTNAME", "this node's name", node_name},
    SetVariable{"HOROVOD_GLOO_RENDEZVOUS_ADDR", "address of the node that runs rank 0",
                master_address},
    SetVariable{"HOROVOD_GLOO_RENDEZVOUS_PORT", "port of Horovod's key-value server there",
                master_port},
};

std::optional<Error> needs_mpi(const StepView& step) {
    if (step.facts.mpi_type != "none") return std::nullopt;
    return Error{"--distgpu=horovod",
                 "Horovod takes its ranks from MPI, but --mpi=none provides no MPI",
                 "use srun --mpi=pmix, or --distgpu=horovod,backend=gloo"};
}

constexpr std::array<std::string_view, 1> keys{"backend"};

const Framework over_gloo{
    .mode = "horovod,backend=gloo",
    .summary = "Horovod over Gloo, one process per task, started by horovod-rendezvous",
    .one_gpu_per_task = true,
    .sets = gloo_sets,
};

constexpr std::array<std::string_view, 1> replaces{"horovodrun"};
constexpr std::array variants{Variant{"backend=mpi", &horovod},
                              Variant{"backend=gloo", &over_gloo}};

}  // namespace

const Framework horovod{
    .mode = "horovod",
    .summary = "Horovod over MPI, one process per task",
    .keys = keys,
    .variants = variants,
    .replaces = replaces,
    .one_gpu_per_task = true,
    .ports = 0,
    .own_ranks = "Horovod takes its ranks from MPI",
    .instead_of_order = "use horovod,backend=gloo, or leave it out",
    .sets = mpi_sets,
    .unsets = mpi_unsets,
    .refuse = needs_mpi,
};

}  // namespace distgpu
