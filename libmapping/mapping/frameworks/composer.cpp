// MosaicML Composer, one launcher per node, which nevertheless wants the size of
// the whole world. Source: composer/cli/launcher.py (0.32) takes its options'
// defaults from these variables.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/launcher_options.h"
#include "mapping/frameworks/registry.h"

#include <algorithm>

namespace distgpu {
namespace {

using namespace contract;

Value all_processes(const TaskContext& task) {
    return std::to_string(std::uint64_t{task.node_count} * task.processes_per_node);
}
Value first_rank(const TaskContext& task) {
    return std::to_string(std::uint64_t{task.node_rank.value} * task.processes_per_node);
}

constexpr auto sets = joined(
    node_rendezvous,
    std::array{
        SetVariable{"WORLD_SIZE", "number of processes on all nodes", all_processes},
        SetVariable{"LOCAL_WORLD_SIZE",
                    "processes that the launcher starts here: nproc=N, else the node's GPUs in "
                    "this step, else its CPUs",
                    processes},
        SetVariable{"BASE_RANK", "rank of this node's first process", first_rank},
    });

constexpr auto unsets =
    joined(std::array{UnsetVariable{"RANK", "the launcher owns the ranks"},
                      UnsetVariable{"LOCAL_RANK", "the launcher owns the ranks"}},
           env_rendezvous_leftovers);

constexpr std::array<std::string_view, 1> keys{"nproc"};
constexpr std::array<std::string_view, 2> launchers{"composer", "python -m composer.cli.launcher"};

constexpr std::array options{
    LauncherOption{"--nproc", OptionMeaning::processes_of_world, "-n"},
    LauncherOption{"--world-size", OptionMeaning::world},
    LauncherOption{"--base-rank", OptionMeaning::own_rank},
    LauncherOption{"--node-rank", OptionMeaning::own_rank},
    LauncherOption{"--master-addr", OptionMeaning::address},
    LauncherOption{"--master-port", OptionMeaning::port},
};
constexpr LauncherOptions launcher{
    .options = options,
    .flags = "-v --verbose -m --module-mode -c --command-mode --version -h --help"};

// Each node computes the world from its own number of processes.
std::optional<Error> equal_nodes(const StepView& step) {
    if (auto refusal = one_task_per_node(step)) return refusal;
    const std::string& cpus = step.facts.cpus_per_node;
    if (step.request.nproc || step.layout.node_count() == 1 ||
        cpus.find(',') == std::string::npos) {
        return std::nullopt;
    }
    return Error{
        "--distgpu=composer",
        formatted(
            "the nodes differ (CPUs: {}), but Composer starts the same number of processes on each",
            cpus),
        "set the number with --distgpu=composer,nproc=N"};
}

}  // namespace

const Framework composer{
    .mode = "composer",
    .summary = "MosaicML Composer, one launcher per node",
    .keys = keys,
    .launcher_per_node = true,
    .launchers = launchers,
    .launcher_options = &launcher,
    .sets = sets,
    .unsets = unsets,
    .refuse = equal_nodes,
};

}  // namespace distgpu
