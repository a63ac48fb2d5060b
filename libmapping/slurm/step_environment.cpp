#include "slurm/step_environment.h"

#include "base/values.h"

#include <string_view>

namespace distgpu {
namespace {

// "block:cyclic,pack" -> "block": the rest is about sockets and packing.
std::string_view node_level(std::string_view distribution) {
    return distribution.substr(0, distribution.find_first_of(":,"));
}

std::optional<Distribution> read_distribution(const StepEnvironment& environment) {
    const std::string_view word = node_level(environment.distribution);
    // Unset means block, or cyclic for at most one task a node, which is the same map.
    if (word.empty() || word == "block") {
        if (environment.topology_order) return std::nullopt;
        return Distribution{Distribution::Kind::block, 0};
    }
    if (word == "cyclic") return Distribution{Distribution::Kind::cyclic, 0};
    if (word == "plane") {
        const std::uint32_t size = whole_number(environment.plane_size).value_or(0);
        if (size > 0) return Distribution{Distribution::Kind::plane, size};
    }
    return std::nullopt;
}

}  // namespace

StepEnvironment read_step_environment(const Environment& environment) {
    const auto variable = [&](const char* name) { return environment.get(name).value_or(""); };
    return {.node_list = variable("SLURM_STEP_NODELIST"),
            .tasks_per_node = variable("SLURM_STEP_TASKS_PER_NODE"),
            .distribution = variable("SLURM_DISTRIBUTION"),
            .plane_size = variable("SLURM_DIST_PLANESIZE"),
            .topology_order = !variable("SLURM_JOB_SLUID").empty()};
}

bool tells_order(const StepEnvironment& environment) {
    return read_distribution(environment).has_value();
}

bool in_step_of_tasks(const Environment& environment) {
    // SLURM_INTERACTIVE_STEP, SLURM_BATCH_SCRIPT and SLURM_EXTERN_CONT of slurm.h. The batch script
    // has no SLURM_STEP_NODELIST, the shell of salloc has one.
    constexpr std::uint32_t first_special_step = 0xfffffffa;
    const auto step = whole_number(environment.get("SLURM_STEP_ID").value_or(""));
    return step && *step < first_special_step &&
           !environment.get("SLURM_STEP_NODELIST").value_or("").empty();
}

Result<std::optional<StepLayout>> derive_layout(const StepEnvironment& environment, StepSize most) {
    auto runs = parse_tasks_per_node(environment.tasks_per_node, most);
    if (!runs) return runs.error();
    const bool one_node = runs->size() == 1 && runs->front().nodes == 1;
    const auto distribution =
        one_node ? std::optional(Distribution{}) : read_distribution(environment);
    if (!distribution) return std::optional<StepLayout>{};
    return HostList::parse(environment.node_list, most.nodes)
        .and_then([&](HostList hosts) {
            return StepLayout::distribute(std::move(hosts), *runs, *distribution);
        })
        .transform([](StepLayout layout) { return std::optional(std::move(layout)); });
}

}  // namespace distgpu
