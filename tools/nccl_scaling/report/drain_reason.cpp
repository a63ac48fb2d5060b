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

bool is_of_a_node(const SlowPart& part) {
    return part.kind == Limiter::Kind::node || part.kind == Limiter::Kind::node_rail;
}

}  // namespace

std::string drain_reason(const ReportInput& input) {
    std::vector<std::string> parts;
    for (const SlowPart& part : input.slow_parts) {
        if (!is_of_a_node(part)) continue;
        parts.push_back(formatted("{} at {:.0f}% of its peers", part.name, 100 * part.relative));
    }
    if (parts.empty() || !is_complete(input)) return "";
    return harmless(formatted("nccl-scaling {}: {}", input.results.started, join(parts, ", "))) +
           "\n";
}

}  // namespace distgpu::scaling
