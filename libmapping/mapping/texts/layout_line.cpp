#include "mapping/texts/layout_line.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/take_until.h"
#include "base/values.h"
#include "mapping/layout/node_order.h"
#include "mapping/texts/layout_check.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

// Nothing: not four numbers.
std::optional<TaskMapBlock> read_block(std::string_view text) {
    std::array<std::uint32_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const bool is_last = i + 1 == numbers.size();
        const std::size_t end = is_last ? text.size() : text.find('.');
        const auto number = whole_number(text.substr(0, end));
        if (!number || end == std::string_view::npos) return std::nullopt;
        numbers[i] = *number;
        text.remove_prefix(is_last ? end : end + 1);
    }
    return TaskMapBlock{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Result<std::vector<TaskMapBlock>> read_task_map(std::string_view text) {
    std::vector<TaskMapBlock> blocks;
    for (const std::string_view item : comma_items(text)) {
        const auto block = read_block(item);
        if (!block) {
            return Error{formatted("task map {}", excerpt(text)), "not blocks of four numbers", ""};
        }
        blocks.push_back(*block);
    }
    return blocks;
}

}  // namespace

std::string layout_line(const StepLayout& layout) {
    std::string line = layout.hosts().to_string();
    char separator = ' ';
    for (const TaskMapBlock& block : layout.task_map()) {
        line += formatted("{}{}.{}.{}.{}", separator, block.node, block.nodes, block.tasks_per_node,
                          block.repeat);
        separator = ',';
    }
    if (!layout.order().empty()) line += ' ' + order_text(layout);
    return line;
}

Result<StepLayout> read_layout_line(std::string_view line, StepSize most) {
    const std::string_view nodes = take_until(line, ' ');
    const std::string_view map = line.substr(0, line.find(' '));
    auto blocks = read_task_map(map);
    if (!blocks) return blocks.error();
    auto layout = HostList::parse(nodes, most.nodes).and_then([&](HostList hosts) {
        return StepLayout::from_task_map(std::move(hosts), *std::move(blocks));
    });
    if (!layout || map.size() == line.size()) return layout;
    // Put in order, tasks in turns can take a block each.
    if (layout->task_count() > most.tasks) return *check_size(*layout, most);
    return in_order(*layout, line.substr(map.size() + 1));
}

}  // namespace distgpu
