// See step_environment.h.
#include "node/step_environment.h"

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
    if (word.empty() || word == "block") return Distribution{Distribution::Kind::block, 0};
    if (word == "cyclic") return Distribution{Distribution::Kind::cyclic, 0};
    if (word == "plane") {
        const std::uint32_t size = whole_number(environment.plane_size).value_or(0);
        if (size > 0) return Distribution{Distribution::Kind::plane, size};
    }
    return std::nullopt;
}

}  // namespace

Result<std::optional<StepLayout>> derive_layout(const StepEnvironment& environment) {
    auto runs = parse_tasks_per_node(environment.tasks_per_node);
    if (!runs) return runs.error();
    const auto distribution = read_distribution(environment);
    if (!distribution) return std::optional<StepLayout>{};
    return HostList::parse(environment.node_list)
        .and_then([&](HostList hosts) {
            return StepLayout::distribute(std::move(hosts), *runs, *distribution);
        })
        .transform([](StepLayout layout) { return std::optional(std::move(layout)); });
}

}  // namespace distgpu
