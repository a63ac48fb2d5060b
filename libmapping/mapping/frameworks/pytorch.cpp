// PyTorch, one process per task: torch.distributed's env:// rendezvous. torchrun (and python -m
// torch.distributed.launch), one launcher per node: torch/distributed/run.py takes every option
// from PET_<DEST> (torch 2.15); its static rendezvous needs the number of nodes, the node's rank
// and the address of rank 0's node, and ignores MASTER_ADDR itself. With rdzv=c10d the launchers
// find their ranks themselves, sorted by address. Megatron-LM and Megatron Core: env://, and two
// further stores on the ports after MASTER_PORT (megatron/core, 0.16). Without RANK and WORLD_SIZE
// it takes every process for the only one.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launchers.h"

namespace distgpu {
namespace {

using namespace contract;

Value is_host(const TaskContext& task) {
    return formatted("is_host={}", task.rank == GlobalRank{0} ? 1 : 0);
}

constexpr auto launcher = std::to_array<SetVariable>({
    {"PET_NNODES", "number of nodes in the step", node_count},
    {"PET_NPROC_PER_NODE",
     "processes that the launcher starts here: nproc=N, else the node's GPUs in this "
     "step, else its CPUs",
     processes},
    {"PET_RDZV_ID", "JOBID.STEPID, the same on every node", value_of<&TaskContext::step_name>},
    {"PET_LOCAL_ADDR", "this node's address", value_of<&TaskContext::reachable_as>},
});

constexpr auto by_rank = std::to_array<SetVariable>({
    {"PET_NODE_RANK", "this node's number, from 0, counted by the nodes' lowest ranks", node_rank},
    {"PET_MASTER_ADDR", "address of the node with PET_NODE_RANK 0", master_address},
    {"PET_MASTER_PORT", "port on which that node serves the rendezvous", master_port},
    {"PET_RDZV_BACKEND", "static: ranks follow NODE_RANK", constant<"static">},
});

constexpr auto by_store = std::to_array<SetVariable>({
    {"PET_RDZV_BACKEND", "c10d: the launchers agree on the ranks", constant<"c10d">},
    {"PET_RDZV_ENDPOINT", "address and port of the launchers' store", master_endpoint},
    {"PET_RDZV_CONF", "whether this node serves the store", is_host},
});

constexpr auto static_sets = joined(launcher, by_rank, node_rendezvous);
constexpr auto c10d_sets = joined(launcher, by_store, node_rendezvous);

constexpr std::array leftovers{torchelastic_leftovers, open_mpi_leftovers};
constexpr auto static_unsets =
    joined(launcher_owned, leftovers,
           std::to_array<UnsetVariable>(
               {{"PET_RDZV_ENDPOINT", "it wins over PET_MASTER_ADDR and hangs the rendezvous"}}));
constexpr auto c10d_unsets =
    joined(launcher_owned, leftovers,
           std::to_array<UnsetVariable>(
               {{"PET_NODE_RANK", "the launchers agree on the ranks"},
                {"PET_MASTER_ADDR", "the launchers find each other by the endpoint"},
                {"PET_MASTER_PORT", "the launchers find each other by the endpoint"}}));

constexpr auto launchers =
    words<"torchrun", "python -m torch.distributed.run", "python -m torch.distributed.launch">;
constexpr std::string_view flags =
    "--standalone -m --module --no-python --run-path --use-env -h --help";

constexpr auto common_options = std::to_array<LauncherOption>({
    {"--standalone", OptionMeaning::one_node},
    {"--nproc-per-node", OptionMeaning::processes},
    {"--rdzv-endpoint", OptionMeaning::endpoint},
    {"--rdzv-backend", OptionMeaning::others},
    {"--rdzv-conf", OptionMeaning::others},
    {"--local-addr", OptionMeaning::others},
    // Known so that no shorter one is taken for them, or for a flag.
    {"--rdzv-id", OptionMeaning::others},
});
constexpr auto static_options =
    joined(common_options, std::to_array<LauncherOption>({{"--nnodes", OptionMeaning::nodes},
                                                          {"--node-rank", OptionMeaning::own_rank},
                                                          {"--master-addr", OptionMeaning::address},
                                                          {"--master-port", OptionMeaning::port}}));
constexpr auto c10d_options = joined(
    common_options, std::to_array<LauncherOption>({{"--nnodes", OptionMeaning::node_range}}));

bool is_static(const GivenOption& backend) {
    return !backend.value || *backend.value == "static";
}

// The launchers agree on the ranks where the backend is another one.
void settle(GivenOptions& given) {
    const GivenOption* const backend = given.find("--rdzv-backend");
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
    const GivenOption* const option = given.find("--local-addr");
    if (option == nullptr || !option->value || step.layout.node_count() == 1) return std::nullopt;
    return Misfit{{formatted("torchrun {}", option->text), "the same on every node",
                   "leave it out: distgpu gives each node its own"}};
}

std::optional<Misfit> judge_static(const StepView& step, const GivenOptions& given) {
    const GivenOption* const backend = given.find("--rdzv-backend");
    if (backend == nullptr || is_static(*backend)) return same_address(step, given);
    const std::string object = formatted("torchrun {}", backend->text);
    const std::string remedy = "use --distgpu=torchrun,rdzv=c10d without --rdzv-backend";
    if (backend->value == "c10d" && given.lacks("--rdzv-endpoint") &&
        step.layout.node_count() > 1) {
        return Misfit{{object,
                       formatted("without --rdzv-endpoint each of the step's {} nodes would wait "
                                 "for the others on itself",
                                 step.layout.node_count()),
                       remedy},
                      true};
    }
    if (backend->value != "c10d") return same_address(step, given);
    return Misfit{
        {object, "the launchers agree on the ranks, which --distgpu=torchrun would give", remedy}};
}

std::optional<Misfit> judge_c10d(const StepView& step, const GivenOptions& given) {
    if (step.layout.node_count() == 1) return std::nullopt;
    const GivenOption* const backend = given.find("--rdzv-backend");
    if (backend != nullptr && backend->value == "static") {
        return Misfit{
            {formatted("torchrun {}", backend->text), "each node would have the node rank 0",
             "leave it out, or use --distgpu=torchrun"},
            true};
    }
    const GivenOption* const conf = given.find("--rdzv-conf");
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
    .refuse = one_task_per_node,
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
