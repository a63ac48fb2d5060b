// See handed_layout.h.
#include "node/handed_layout.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/node_order.h"
#include "node/task_environment.h"
#include "node/variables.h"
#include "slurm/step_environment.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

bool tells_layout(const Environment& environment, const StepLayout& layout) {
    const auto derived = derive_layout(read_step_environment(environment));
    return derived && *derived == layout;
}

// "0.1.2.1". Nothing: not four numbers.
std::optional<TaskMapBlock> parse_block(std::string_view text) {
    std::array<std::uint32_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const bool last = i + 1 == numbers.size();
        const std::size_t end = last ? text.size() : text.find('.');
        const auto number = whole_number(text.substr(0, end));
        if (!number || end == std::string_view::npos) return std::nullopt;
        numbers[i] = *number;
        text.remove_prefix(last ? end : end + 1);
    }
    return TaskMapBlock{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Error malformed() {
    return {layout_variable, "malformed", formatted("unset {}", layout_variable)};
}

Result<StepLayout> parse_layout(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return malformed();
    const std::string_view map = text.substr(space + 1);
    const std::size_t end = std::min(map.find(' '), map.size());
    std::vector<TaskMapBlock> blocks;
    for (const std::string_view item : comma_items(map.substr(0, end))) {
        const auto block = parse_block(item);
        if (!block) return malformed();
        blocks.push_back(*block);
    }
    auto layout = HostList::parse(text.substr(0, space)).and_then([&](HostList hosts) {
        return StepLayout::from_task_map(std::move(hosts), std::move(blocks));
    });
    if (!layout || end == map.size()) return layout;
    return in_order(*layout, map.substr(end + 1));
}

}  // namespace

void hand_on_layout(Environment& environment, const StepLayout& layout) {
    environment.unset(layout_variable);
    if (tells_layout(environment, layout)) return;
    std::string text = step_mark(environment) + layout.hosts().to_string();
    char separator = ' ';
    for (const TaskMapBlock& block : layout.task_map()) {
        text += formatted("{}{}.{}.{}.{}", separator, block.node, block.nodes, block.tasks_per_node,
                          block.repeat);
        separator = ',';
    }
    if (!layout.order().empty()) text += ' ' + order_text(layout);
    // Linux's MAX_ARG_STRLEN, less the name.
    constexpr std::size_t longest = 131'000;
    if (text.size() <= longest) environment.set(layout_variable, text);
}

std::optional<Result<StepLayout>> handed_layout(const Environment& environment) {
    const std::string mark = step_mark(environment);
    const std::string text = environment.get(layout_variable).value_or("");
    if (text.compare(0, mark.size(), mark) != 0) return std::nullopt;
    return parse_layout(std::string_view(text).substr(mark.size()));
}

}  // namespace distgpu
