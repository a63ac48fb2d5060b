#include "report/verdict.h"

#include "base/format.h"
#include "report/names.h"

#include <algorithm>
#include <cstddef>

namespace distgpu::scaling {

namespace {

constexpr std::size_t most_named = 8;

template <class Items, class Name>
std::string listed(const Items& items, Name name) {
    std::string text;
    const auto named = std::min(items.size(), most_named);
    for (std::size_t index = 0; index < named; ++index) {
        if (index > 0) text += ", ";
        text += name(items[index]);
    }
    if (items.size() > named) text += formatted(" and {} more", items.size() - named);
    return text;
}

std::string reason(const Results& results, const Doubt& doubt) {
    const double percent = 100 * doubt.relative;
    switch (doubt.kind) {
        case Doubt::Kind::alone_on_switch: {
            const Node& node = results.nodes[doubt.nodes.front()];
            return formatted("{} is alone on switch {}: either may be at {:.0f}%", node.name,
                             leaf_of(node), percent);
        }
        case Doubt::Kind::alike:
            return formatted(
                "{} of {} nodes are at {:.0f}% ({}): of another kind, or with a common cause",
                doubt.nodes.size(), results.nodes.size(), percent,
                listed(doubt.nodes, [&](std::uint32_t node) { return results.nodes[node].name; }));
        case Doubt::Kind::noise:
            return formatted(
                "equal measurements differ so much that a node at {:.0f}% would not "
                "stand out",
                percent);
        case Doubt::Kind::all_nodes:
            return formatted("all nodes together reach {:.0f}% of what two of them do", percent);
        case Doubt::Kind::none:
            break;
    }
    return "";
}

std::string limiters_text(const Results& results, const Blame& blame) {
    if (!blame.findings.empty()) {
        return listed(blame.findings, [&](const Finding& finding) {
            return limiter_name(results, finding.limiter);
        });
    }
    if (blame.doubt.kind != Doubt::Kind::none) {
        return "undecided, because " + reason(results, blame.doubt);
    }
    if (blame.decidable) return "none";
    if (results.nodes.size() > 2) return "not measured";
    return "cannot be determined with " + counted(results.nodes.size(), "node");
}

}  // namespace

std::string verdict_line(const Results& results, const Blame& blame,
                         const std::optional<Headline>& headline) {
    return formatted("{}: {}; limiter: {}", counted(results.nodes.size(), "node"),
                     headline ? headline_text(results, *headline) : "bandwidth not measured",
                     limiters_text(results, blame));
}

}  // namespace distgpu::scaling
