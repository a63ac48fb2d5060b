// PyTorch, one process per task: torch.distributed's env:// rendezvous. torchrun (and python -m
// torch.distributed.launch), one launcher per node: torch/distributed/run.py reads every option
// from PET_<DEST> (torch 2.15); its static rendezvous needs the number of nodes, the node's rank
// and the address of rank 0's node, and ignores MASTER_ADDR. With rdzv=c10d the launchers choose
// their ranks themselves, sorted by address. Megatron-LM and Megatron Core: env://, and two more
// stores on the ports after MASTER_PORT (megatron/core, 0.16). Without RANK and WORLD_SIZE, each
// process runs alone.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launchers.h"

namespace distgpu {
namespace {

using namespace contract;

Value c10d_conf(const TaskContext& task) {
    return formatted("is_host={}", task.rank == GlobalRank{0} ? 1 : 0);
}

constexpr auto shared_variables = std::to_array<SetVariable>({
    {"PET_NNODES", "number of nodes in the step", node_count},
    {"PET_NPROC_PER_NODE",
     "processes that the launcher starts here: nproc=N, else the node's GPUs in this "
     "step, else its CPUs",
     processes},
    {"PET_RDZV_ID", "JOBID.STEPID, the same on every node", value_of<&TaskContext::step_name>},
    {"PET_LOCAL_ADDR", "this node's address", value_of<&TaskContext::reachable_address>},
    // By itself torchrun dies of SIGUSR1 and SIGUSR2, and kills its workers after 30 s
    // (torch/distributed/elastic/agent/server/api.py, 2.15).
    {"PET_SIGNALS_TO_HANDLE", "signals that the launcher passes on to its processes, as their end",
     constant<"SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2">, true},
    {"PET_SHUTDOWN_TIMEOUT", "seconds that its processes then have to save", constant<"60">, true},
});

constexpr auto static_variables = std::to_array<SetVariable>({
    {"PET_NODE_RANK", "this node's number, from 0, counted by the nodes' lowest ranks", node_rank},
    {"PET_MASTER_ADDR", "address of the node with PET_NODE_RANK 0", master_address},
    {"PET_MASTER_PORT", "port on which that node serves the rendezvous", master_port},
    {"PET_RDZV_BACKEND", "static: ranks follow NODE_RANK", constant<"static">},
});

constexpr auto c10d_variables = std::to_array<SetVariable>({
    {"PET_RDZV_BACKEND", "c10d: the launchers agree on the ranks", constant<"c10d">},
    {"PET_RDZV_ENDPOINT", "address and port of the launchers' store", master_endpoint},
    {"PET_RDZV_CONF", "whether this node serves the store", c10d_conf},
});

constexpr auto static_sets = joined(shared_variables, static_variables, node_rendezvous);
constexpr auto c10d_sets = joined(shared_variables, c10d_variables, node_rendezvous);

constexpr std::array leftovers{torchelastic_leftovers, open_mpi_leftovers};
constexpr auto static_unsets = joined(
    launcher_owned, leftovers,
    std::to_array<UnsetVariable>(
        {{"PET_RDZV_ENDPOINT", "it overrides PET_MASTER_ADDR and makes the rendezvous hang"}}));
constexpr auto c10d_unsets =
    joined(launcher_owned, leftovers,
           std::to_array<UnsetVariable>(
               {{"PET_NODE_RANK", "the launchers agree on the ranks"},
                {"PET_MASTER_ADDR", "the launchers find each other by the endpoint"},
                {"PET_MASTER_PORT", "the launchers find each other by the endpoint"}}));

constexpr auto launchers =
    words<"torchrun", "python -m torch.distributed.run", "python -m torch.distributed.launch">;
constexpr Text flags = "--standalone -m --module --no-python --run-path --use-env -h --help";

constexpr auto common_options = std::to_array<LauncherOption>({
    {"--standalone", OptionMeaning::one_node},
    {"--nproc-per-node", OptionMeaning::processes},
    {"--rdzv-endpoint", OptionMeaning::endpoint},
    {"--rdzv-backend", OptionMeaning::custom},
    {"--rdzv-conf", OptionMeaning::custom},
    {"--local-addr", OptionMeaning::custom},
    // Listed so that no abbreviation or flag is mistaken for it.
    {"--rdzv-id", OptionMeaning::custom},
});
constexpr auto static_options =
    joined(common_options, std::to_array<LauncherOption>({{"--nnodes", OptionMeaning::nodes},
                                                          {"--node-rank", OptionMeaning::node_rank},
                                                          {"--master-addr", OptionMeaning::address},
                                                          {"--master-port", OptionMeaning::port}}));
constexpr auto c10d_options = joined(
    common_options, std::to_array<LauncherOption>({{"--nnodes", OptionMeaning::node_range}}));

bool is_static(const GivenOption& backend) {
    return !backend.value || *backend.value == "static";
}

// With another backend the launchers agree on the ranks, and the options for the ranks are ignored.
void remove_overridden(GivenOptions& given) {
    const GivenOption* const backend = given.find("--rdzv-backend");
    if (backend == nullptr || is_static(*backend)) return;
    const bool is_c10d = backend->value == "c10d";
    std::erase_if(given.options, [&](const GivenOption& option) {
        switch (option.option->meaning) {
            case OptionMeaning::node_rank:
            case OptionMeaning::address:
            case OptionMeaning::port:
                return true;
            case OptionMeaning::endpoint:
                return !is_c10d;
            default:
                return false;
        }
    });
}

// Warns about --local-addr: all nodes run the same command line, but have different addresses.
std::optional<Mismatch> warn_local_addr(const StepView& step, const GivenOptions& given) {
    const GivenOption* const option = given.find("--local-addr");
    if (option == nullptr || !option->value || step.layout.node_count() == 1) return std::nullopt;
    return Mismatch{{formatted("torchrun {}", option->text), "every node would get the same value",
                     "leave it out: distgpu gives each node its own"}};
}

std::optional<Mismatch> find_mismatch_static(const StepView& step, const GivenOptions& given) {
    const GivenOption* const backend = given.find("--rdzv-backend");
    if (backend == nullptr || is_static(*backend)) return warn_local_addr(step, given);
    const std::string object = formatted("torchrun {}", backend->text);
    const std::string remedy = "use --distgpu=torchrun,rdzv=c10d without --rdzv-backend";
    if (backend->value == "c10d" && given.lacks("--rdzv-endpoint") &&
        step.layout.node_count() > 1) {
        return Mismatch{{object,
                         formatted("without --rdzv-endpoint each of the step's {} nodes would wait "
                                   "for the others on itself",
                                   step.layout.node_count()),
                         remedy},
                        true};
    }
    if (backend->value != "c10d") return warn_local_addr(step, given);
    return Mismatch{
        {object, "the launchers agree on the ranks, which --distgpu=torchrun would give", remedy}};
}

std::optional<Mismatch> find_mismatch_c10d(const StepView& step, const GivenOptions& given) {
    if (step.layout.node_count() == 1) return std::nullopt;
    const GivenOption* const backend = given.find("--rdzv-backend");
    if (backend != nullptr && backend->value == "static") {
        return Mismatch{
            {formatted("torchrun {}", backend->text), "each node would have node rank 0",
             "leave it out, or use --distgpu=torchrun"},
            true};
    }
    const GivenOption* const conf = given.find("--rdzv-conf");
    if (conf != nullptr && conf->value && conf->value->find("is_host") != std::string::npos) {
        return Mismatch{{formatted("torchrun {}", conf->text),
                         "every node would get the same value, but only rank 0's node serves the "
                         "store",
                         "leave is_host out: distgpu gives each node its own"},
                        true};
    }
    return warn_local_addr(step, given);
}

constexpr LauncherOptions static_launcher{.options = static_options,
                                          .flags = flags,
                                          .remove_overridden = remove_overridden,
                                          .find_mismatch = find_mismatch_static};
constexpr LauncherOptions c10d_launcher{.options = c10d_options,
                                        .flags = flags,
                                        .remove_overridden = remove_overridden,
                                        .find_mismatch = find_mismatch_c10d};

const Framework c10d{
    .mode = "torchrun,rdzv=c10d",
    .summary = "torchrun for elastic jobs, one launcher per node; the launchers choose the ranks",
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &c10d_launcher,
    .fixed_ranks_reason = "with rdzv=c10d the launchers agree on their ranks among themselves",
    .order_remedy = "use rdzv=static, the default, or leave it out",
    .sets = c10d_sets,
    .unsets = c10d_unsets,
    .refuse = refuse_several_tasks,
};

constexpr auto variants =
    std::to_array<Variant>({{"rdzv=static", &torchrun}, {"rdzv=c10d", &c10d}});

}  // namespace

const Framework torchrun{
    .mode = "torchrun",
    .summary = "torchrun or python -m torch.distributed.launch, one launcher per node",
    .keys = words<"nproc", "rdzv">,
    .variants = variants,
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &static_launcher,
    .sets = static_sets,
    .unsets = static_unsets,
    .refuse = refuse_several_tasks,
};

const Framework pytorch{
    .mode = "pytorch",
    .summary = "PyTorch (torch.distributed, DistributedDataParallel), one process per task",
    .keys = per_node_keys,
    .variants = per_node_variant<torchrun>,
    .one_gpu_per_task = true,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

const Framework megatron{
    .mode = "megatron",
    .summary = "Megatron-LM and Megatron Core, one process per task",
    .one_gpu_per_task = true,
    .ports = 3,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

}  // namespace distgpu
