// Words for what the analysis found.
#include "analysis/verdict.h"

#include "base/format.h"

#include <algorithm>
#include <cstddef>

namespace distgpu::scaling {

namespace {

constexpr std::size_t most_named = 8;

// Empty: it has none.
std::string port_name(const Node& node, std::uint32_t local_rank) {
    return local_rank < node.rails.size() ? node.rails[local_rank] : "";
}

std::string rail_name(const Results& results, std::uint32_t local_rank) {
    const auto name = port_name(results.nodes.front(), local_rank);
    const bool everywhere =
        std::all_of(results.nodes.begin(), results.nodes.end(),
                    [&](const Node& node) { return port_name(node, local_rank) == name; });
    return everywhere && !name.empty() ? "rail " + name : formatted("rail {}", local_rank);
}

std::string limiters_text(const Results& results, const Blame& blame) {
    if (blame.limiters.empty()) {
        if (blame.decidable) return "none";
        if (results.nodes.size() < 3) {
            return "not decidable with " + counted(results.nodes.size(), "node");
        }
        return "not measured";
    }
    std::string text;
    const auto named = std::min(blame.limiters.size(), most_named);
    for (std::size_t index = 0; index < named; ++index) {
        if (index > 0) text += ", ";
        text += limiter_name(results, blame.limiters[index]);
    }
    if (blame.limiters.size() > named) {
        text += formatted(" and {} more", blame.limiters.size() - named);
    }
    return text;
}

}  // namespace

std::string limiter_name(const Results& results, const Limiter& limiter) {
    if (limiter.kind == Limiter::Kind::rail) return rail_name(results, limiter.local_rank);
    const auto& node = results.nodes[limiter.node];
    if (limiter.kind == Limiter::Kind::node) return node.name;
    const auto port = port_name(node, limiter.local_rank);
    return node.name + "/" + (port.empty() ? formatted("rail {}", limiter.local_rank) : port);
}

std::string scaling_text(std::uint64_t nodes, std::optional<double> weak,
                         std::optional<double> strong) {
    const std::string size = counted(nodes, "node") + ": ";
    if (nodes == 1) return size + "nothing to scale to";
    const auto percent = [](double efficiency) { return formatted("{:.0f}%", 100 * efficiency); };
    if (weak && strong) {
        return size +
               formatted("{} of linear (weak), {} (strong)", percent(*weak), percent(*strong));
    }
    if (weak) return size + percent(*weak) + " of linear (weak)";
    if (strong) return size + percent(*strong) + " of linear (strong)";
    return size + "scaling not measured";
}

std::string verdict_line(const Results& results, const Blame& blame, std::optional<double> weak,
                         std::optional<double> strong) {
    return formatted("{}; limiter: {}", scaling_text(results.nodes.size(), weak, strong),
                     limiters_text(results, blame));
}

}  // namespace distgpu::scaling
