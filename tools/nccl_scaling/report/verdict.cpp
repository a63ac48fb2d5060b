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

std::string verdict_line(const Results& results, const Blame& blame,
                         const std::optional<Headline>& headline) {
    return formatted("{}: {}; limiter: {}", counted(results.nodes.size(), "node"),
                     headline ? headline_text(results, *headline) : "bandwidth not measured",
                     limiters_text(results, blame));
}

}  // namespace distgpu::scaling
