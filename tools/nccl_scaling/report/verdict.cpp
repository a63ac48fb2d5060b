// See verdict.h.
#include "report/verdict.h"

#include "base/format.h"
#include "report/names.h"

#include <algorithm>
#include <cstddef>

namespace distgpu::scaling {

namespace {

constexpr std::size_t most_named = 8;

std::string limiters_text(const Results& results, const Blame& blame) {
    if (blame.limiters.empty()) {
        if (blame.decidable) return "none";
        if (results.nodes.size() < 3) {
            return "cannot be determined with " + counted(results.nodes.size(), "node");
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
