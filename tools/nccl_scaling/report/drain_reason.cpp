// The slow nodes as the reason to drain them.
#include "base/format.h"
#include "report/formats.h"

#include <algorithm>
#include <vector>

namespace distgpu::scaling {
namespace {

// Within quotes on a command line: without a quote, an expansion or a control character.
std::string harmless(std::string text) {
    const auto is_harmful = [](char c) {
        const auto code = static_cast<unsigned char>(c);
        return code < ' ' || code == 0x7f ||
               std::string_view("\"'`$\\").find(c) != std::string::npos;
    };
    std::replace_if(text.begin(), text.end(), is_harmful, '_');
    return text;
}

// The first thing that its node says of itself, where it is short: slurmctld keeps the whole line
// with the node.
std::string first_fact(const Node& node) {
    constexpr std::size_t longest = 80;
    if (node.facts.empty() || node.facts.front().size() > longest) return "";
    return formatted(" ({})", node.facts.front());
}

}  // namespace

std::string drain_reason(const ReportInput& input) {
    std::vector<std::string> parts;
    for (const SlowPart& part : input.slow_parts) {
        if (!part.node) continue;
        parts.push_back(formatted("{} at {:.0f}% of its peers{}", part.name, 100 * part.relative,
                                  first_fact(input.results.nodes[*part.node])));
    }
    if (parts.empty() || !is_complete(input)) return "";
    return harmless(formatted("nccl-scaling {}: {}", input.results.started, join(parts, ", "))) +
           "\n";
}

}  // namespace distgpu::scaling
