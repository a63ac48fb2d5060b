// torchrun (and python -m torch.distributed.launch), one launcher per node.
// Source: torch/distributed/run.py takes every option from PET_<DEST> (torch 2.15);
// its static rendezvous needs the number of nodes, the node's rank and the
// address of rank 0's node, and ignores MASTER_ADDR itself. With rdzv=c10d the
// launchers find their ranks themselves, sorted by address.
#include "base/values.h"
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launcher_options.h"
#include "mapping/frameworks/registry.h"
#include "mapping/rendezvous/host_port.h"
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

constexpr std::string_view flags =
    "--standalone -m --module --no-python --run-path --use-env -h --help";

constexpr std::string_view backend_option = "--rdzv-backend";
constexpr std::string_view endpoint_option = "--rdzv-endpoint";
constexpr std::string_view conf_option = "--rdzv-conf";
constexpr std::string_view own_address_option = "--local-addr";

constexpr std::array common_options{
    LauncherOption{"--standalone", OptionMeaning::one_node},
    LauncherOption{"--nproc-per-node", OptionMeaning::processes},
    LauncherOption{endpoint_option, OptionMeaning::endpoint},
    LauncherOption{backend_option, OptionMeaning::others},
    LauncherOption{conf_option, OptionMeaning::others},
    LauncherOption{own_address_option, OptionMeaning::others},
    // Known so that no shorter one is taken for them, or for a flag.
    LauncherOption{"--rdzv-id", OptionMeaning::others},
};
constexpr auto static_options =
    joined(common_options, std::array{LauncherOption{"--nnodes", OptionMeaning::nodes},
                                      LauncherOption{"--node-rank", OptionMeaning::own_rank},
                                      LauncherOption{"--master-addr", OptionMeaning::address},
                                      LauncherOption{"--master-port", OptionMeaning::port}});
constexpr auto c10d_options =
    joined(common_options, std::array{LauncherOption{"--nnodes", OptionMeaning::node_range}});

bool is_static(const GivenOption& backend) {
    return !backend.value || *backend.value == "static";
}

// The launchers agree on the ranks where the backend is another one.
void settle(GivenOptions& given) {
    const GivenOption* const backend = given.find(backend_option);
    if (backend == nullptr || is_static(*backend)) return;
    const bool is_store_of_torch = backend->value == "c10d";
    std::erase_if(given.options, [&](const GivenOption& option) {
        switch (option.option->meaning) {
            case OptionMeaning::own_rank:
            case OptionMeaning::address:
            case OptionMeaning::port:
                return true;
            case OptionMeaning::endpoint:
                return !is_store_of_torch;
            default:
                return false;
        }
    });
}

// A value of the one command line that cannot be every node's.
std::optional<Misfit> same_address(const StepView& step, const GivenOptions& given) {
    const GivenOption* const option = given.find(own_address_option);
    if (option == nullptr || !option->value || step.layout.node_count() == 1) return std::nullopt;
    return Misfit{{formatted("torchrun {}", option->text), "the same on every node",
                   "leave it out: distgpu gives each node its own"}};
}

std::optional<Misfit> judge_static(const StepView& step, const GivenOptions& given) {
    const GivenOption* const backend = given.find(backend_option);
    if (backend == nullptr || is_static(*backend)) return same_address(step, given);
    const std::string object = formatted("torchrun {}", backend->text);
    const std::string remedy =
        formatted("use --distgpu=torchrun,rdzv=c10d without {}", backend_option);
    if (backend->value == "c10d" && given.lacks(endpoint_option) && step.layout.node_count() > 1) {
        return Misfit{{object,
                       formatted("without {} each of the step's {} nodes would wait for the "
                                 "others on itself",
                                 endpoint_option, step.layout.node_count()),
                       remedy},
                      true};
    }
    if (backend->value != "c10d") return same_address(step, given);
    return Misfit{
        {object, "the launchers agree on the ranks, which --distgpu=torchrun would give", remedy}};
}

std::optional<Misfit> judge_c10d(const StepView& step, const GivenOptions& given) {
    if (step.layout.node_count() == 1) return std::nullopt;
    const GivenOption* const backend = given.find(backend_option);
    if (backend != nullptr && backend->value == "static") {
        return Misfit{
            {formatted("torchrun {}", backend->text), "each node would have the node rank 0",
             "leave it out, or use --distgpu=torchrun"},
            true};
    }
    const GivenOption* const conf = given.find(conf_option);
    if (conf != nullptr && conf->value && conf->value->find("is_host") != std::string::npos) {
        return Misfit{{formatted("torchrun {}", conf->text),
                       "the same on every node, but only rank 0's serves the store",
                       "leave is_host out: distgpu gives each node its own"},
                      true};
    }
    return same_address(step, given);
}

constexpr LauncherOptions static_launcher{
    .options = static_options, .flags = flags, .settle = settle, .judge = judge_static};
constexpr LauncherOptions c10d_launcher{
    .options = c10d_options, .flags = flags, .settle = settle, .judge = judge_c10d};

const Framework c10d{
    .mode = "torchrun,rdzv=c10d",
    .summary = "torchrun for elastic jobs, one launcher per node; the launchers choose the ranks",
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &c10d_launcher,
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
    .launcher_options = &static_launcher,
    .sets = static_sets,
    .unsets = static_unsets,
    .refuse = one_task_per_node,
};

}  // namespace distgpu
