// torchrun (and python -m torch.distributed.launch), one launcher per node.
// Source: torch/distributed/run.py takes every option from PET_<DEST> (torch 2.15);
// its static rendezvous needs the number of nodes, the node's rank and the
// address of rank 0's node, and ignores MASTER_ADDR itself. With rdzv=c10d the
// launchers find their ranks themselves, sorted by address.
#include "base/values.h"
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {
namespace {

using namespace contract;

Value static_backend(const TaskContext& /*task*/) {
    return "static";
}
Value c10d_backend(const TaskContext& /*task*/) {
    return "c10d";
}
Value step_name(const TaskContext& task) {
    return std::string(task.step_name);
}
Value local_address(const TaskContext& task) {
    return std::string(task.reachable_as);
}
Value endpoint(const TaskContext& task) {
    return host_and_port(task.master_address, task.master_port);
}
Value is_host(const TaskContext& task) {
    return formatted("is_host={}", task.rank == GlobalRank{0} ? 1 : 0);
}

constexpr std::array launcher{
    SetVariable{"PET_NNODES", "number of nodes in the step", node_count},
    SetVariable{"PET_NPROC_PER_NODE",
                "processes that the launcher starts here: nproc=N, else the node's GPUs in this "
                "step, else its CPUs",
                processes},
    SetVariable{"PET_RDZV_ID", "JOBID.STEPID, the same on every node", step_name},
    SetVariable{"PET_LOCAL_ADDR", "this node's address", local_address},
};

constexpr std::array by_rank{
    SetVariable{"PET_NODE_RANK", "this node's number, from 0, counted by the nodes' lowest ranks",
                node_rank},
    SetVariable{"PET_MASTER_ADDR", "address of the node with PET_NODE_RANK 0", master_address},
    SetVariable{"PET_MASTER_PORT", "port on which that node serves the rendezvous", master_port},
    SetVariable{"PET_RDZV_BACKEND", "static: ranks follow NODE_RANK", static_backend},
};

constexpr std::array by_store{
    SetVariable{"PET_RDZV_BACKEND", "c10d: the launchers agree on the ranks", c10d_backend},
    SetVariable{"PET_RDZV_ENDPOINT", "address and port of the launchers' store", endpoint},
    SetVariable{"PET_RDZV_CONF", "whether this node serves the store", is_host},
};

constexpr auto static_sets = joined(launcher, by_rank, node_rendezvous);
constexpr auto c10d_sets = joined(launcher, by_store, node_rendezvous);

constexpr std::array leftovers{torchelastic_leftovers, open_mpi_leftovers};
constexpr auto static_unsets =
    joined(launcher_owned, leftovers,
           std::array{UnsetVariable{"PET_RDZV_ENDPOINT",
                                    "it wins over PET_MASTER_ADDR and hangs the rendezvous"}});
constexpr auto c10d_unsets = joined(
    launcher_owned, leftovers,
    std::array{UnsetVariable{"PET_NODE_RANK", "the launchers agree on the ranks"},
               UnsetVariable{"PET_MASTER_ADDR", "the launchers find each other by the endpoint"},
               UnsetVariable{"PET_MASTER_PORT", "the launchers find each other by the endpoint"}});

constexpr std::array<std::string_view, 3> launchers{"torchrun", "python -m torch.distributed.run",
                                                    "python -m torch.distributed.launch"};

const Framework c10d{
    .mode = "torchrun,rdzv=c10d",
    .summary = "torchrun for elastic jobs, one launcher per node; the launchers choose the ranks",
    .launcher_per_node = true,
    .launchers = launchers,
    .own_ranks = "with rdzv=c10d the launchers agree on their ranks among themselves",
    .instead_of_order = "use rdzv=static, the default, or leave it out",
    .sets = c10d_sets,
    .unsets = c10d_unsets,
    .refuse = one_task_per_node,
};

constexpr std::array<std::string_view, 2> keys{"nproc", "rdzv"};
constexpr std::array variants{Variant{"rdzv=static", &torchrun}, Variant{"rdzv=c10d", &c10d}};

}  // namespace

const Framework torchrun{
    .mode = "torchrun",
    .summary = "torchrun or python -m torch.distributed.launch, one launcher per node",
    .keys = keys,
    .variants = variants,
    .launcher_per_node = true,
    .launchers = launchers,
    .sets = static_sets,
    .unsets = static_unsets,
    .refuse = one_task_per_node,
};

}  // namespace distgpu
