#include "mapping/texts/sent_step.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/node_order.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/texts/variables.h"

#include <array>

namespace distgpu {
namespace {

constexpr std::string_view layout_key = "layout=";

struct Flag {
    Literal<32> name;
    bool SentStep::*member;
};
constexpr std::array flags{
    Flag{"refused", &SentStep::refused},      Flag{"cpu_bind", &SentStep::cpu_bind},
    Flag{"ntasks", &SentStep::ntasks},        Flag{"helper", &SentStep::helper},
    Flag{"debugger", &SentStep::debugger},    Flag{"derived", &SentStep::derived},
    Flag{"configured", &SentStep::configured}};

// "v2 JOB.STEP ", with the blank at the end.
std::string header_of(std::uint32_t job, std::uint32_t step) {
    return formatted("v2 {}.{} ", job, step);
}

constexpr std::size_t max_path_length = 256;

// Whether the path can be written without escapes.
bool is_plain_path(std::string_view path) {
    return path.starts_with('/') && path.size() <= max_path_length &&
           path.find(' ') == std::string_view::npos && printable(path) == path;
}

// The longest output of encode(): each node's name (twice) and address, and a block for each task.
std::size_t max_length(StepSize size) {
    constexpr std::size_t rest = 256 + HostList::max_name_length + max_path_length;
    constexpr std::size_t per_node = 3 * (HostList::max_name_length + 1);
    constexpr std::size_t per_task = sizeof("16777216.16777216.2147483648.2147483648,");
    return rest + size.nodes * per_node + size.tasks * per_task;
}

Error refusal(std::string problem) {
    return {sent_step_variable, std::move(problem),
            formatted("run again without {}", sent_step_variable)};
}

// `item`: NAME or NAME=VALUE. False if the name is known but the value is invalid.
bool read_item(SentStep& step, std::string_view item, StepSize size) {
    for (const Flag& flag : flags) {
        if (item == flag.name) return step.*flag.member = true;
    }
    std::string_view value = item;
    const std::string_view name = cut_until(value, '=');
    if (name == "rank0") {
        step.rank0_address = value;
        return is_host(value);
    }
    if (name == "gpus") {
        const auto gpus = whole_number(value);
        step.gpus = gpus.value_or(0);
        return gpus.has_value();
    }
    if (name == "plugin") {
        step.plugin_file = value;
        return is_plain_path(value);
    }
    if (name == "addresses" && size.nodes > 0) {
        auto addresses = HostList::parse(value, size.nodes);
        if (!addresses) return false;
        step.node_addresses = *std::move(addresses);
    }
    return true;
}

Result<SentStep> read_items(std::string_view text, const KnownStep& known) {
    SentStep step;
    step.job = known.job;
    step.step = known.step;
    while (!text.empty() && !text.starts_with(layout_key)) {
        const std::string_view item = cut_until(text, ' ');
        if (!read_item(step, item, known.size)) {
            return refusal(formatted("'{}' is malformed", excerpt(item)));
        }
    }
    if (!text.empty() && known.size.nodes > 0) {
        auto layout = read_layout_line(text.substr(layout_key.size()), known.size);
        if (!layout) return refusal(layout.error().cause());
        step.layout = *std::move(layout);
    }
    const std::uint64_t addresses = step.node_addresses.size();
    if (addresses > 0 && (!step.layout || step.layout->node_count() != addresses)) {
        return refusal("not an address for each node");
    }
    return step;
}

Result<std::vector<TaskMapBlock>> read_task_map(std::string_view text) {
    std::vector<TaskMapBlock> blocks;
    for (std::string_view item : comma_items(text)) {
        std::array<std::uint32_t, 4> numbers{};
        bool is_block = std::count(item.begin(), item.end(), '.') == 3;
        for (std::uint32_t& number : numbers) {
            const auto read = whole_number(cut_until(item, '.'));
            is_block = is_block && read;
            number = read.value_or(0);
        }
        if (!is_block) {
            return Error{formatted("task map {}", excerpt(text)), "not blocks of four numbers", ""};
        }
        blocks.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
    }
    return blocks;
}

Error layout_mismatch(std::string problem) {
    return {"task map", std::move(problem), formatted("run again without {}", sent_step_variable)};
}

Error size_mismatch(std::uint64_t tasks, std::uint64_t nodes, StepSize started) {
    return layout_mismatch(formatted("{} tasks on {} nodes, but Slurm started {} on {}", tasks,
                                     nodes, started.tasks, started.nodes));
}

}  // namespace

std::string encode(const SentStep& step) {
    std::string text = header_of(step.job, step.step);
    text.pop_back();
    for (const Flag& flag : flags) {
        if (step.*flag.member) text += formatted(" {}", flag.name);
    }
    if (step.gpus > 0) text += formatted(" gpus={}", step.gpus);
    if (is_host(step.rank0_address)) text += " rank0=" + step.rank0_address;
    if (is_plain_path(step.plugin_file)) text += " plugin=" + step.plugin_file;
    if (!step.layout) return text;
    const std::string layout = formatted(" {}{}", layout_key, layout_line(*step.layout));
    if (text.size() + layout.size() > max_sent_length) return text;
    if (!step.node_addresses.empty()) {
        const std::string addresses = " addresses=" + step.node_addresses.to_string();
        const std::size_t length = text.size() + addresses.size() + layout.size();
        if (length <= max_sent_length) text += addresses;
    }
    return text + layout;
}

Result<std::optional<SentStep>> decode(std::string_view text, const KnownStep& known) {
    // Appends a blank, because a text without items ends before it.
    const std::string header = header_of(known.job, known.step);
    if (!(std::string(text.substr(0, header.size())) + ' ').starts_with(header)) {
        return std::optional<SentStep>{};
    }
    if (text.size() > max_length(known.size)) {
        return refusal(formatted("{} characters, more than {} on {} need", text.size(),
                                 counted(known.size.tasks, "task"),
                                 counted(known.size.nodes, "node")));
    }
    text.remove_prefix(std::min(header.size(), text.size()));
    return read_items(text, known).transform([](SentStep step) {
        return std::optional(std::move(step));
    });
}

bool has_layout_or_refusal(std::string_view text, std::uint32_t job, std::uint32_t step) {
    const auto has = [&](std::string_view item) {
        return text.find(formatted(" {}", item)) != std::string_view::npos;
    };
    return text.starts_with(header_of(job, step)) && (has(layout_key) || has("refused"));
}

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

Result<StepLayout> read_layout_line(std::string_view line, StepSize limit) {
    const std::string_view nodes = cut_until(line, ' ');
    const std::string_view map = line.substr(0, line.find(' '));
    const auto blocks = read_task_map(map);
    if (!blocks) return blocks.error();
    auto hosts = HostList::parse(nodes, limit.nodes);
    if (!hosts) return hosts.error();
    const auto tasks = count_tasks(*blocks, hosts->size());
    if (!tasks) return tasks.error();
    // A layout that is a little too large is refused by check_size(), which every caller uses.
    constexpr std::uint64_t tolerance = std::uint64_t{1} << 16U;
    if (*tasks > limit.tasks + tolerance) return size_mismatch(*tasks, hosts->size(), limit);
    auto layout = StepLayout::from_task_map(*std::move(hosts), *blocks);
    if (!layout || map.size() == line.size()) return layout;
    return with_node_order(*layout, line.substr(map.size() + 1));
}

std::optional<Error> check_size(const StepLayout& layout, StepSize started) {
    if (layout.node_count() == started.nodes && layout.task_count() == started.tasks) {
        return std::nullopt;
    }
    return size_mismatch(layout.task_count(), layout.node_count(), started);
}

std::optional<Error> check_layout(const StepLayout& layout, const LocalTasks& started) {
    if (started.node.value >= layout.node_count()) {
        return layout_mismatch(formatted("{} nodes, but Slurm started a task on node number {}",
                                         layout.node_count(), started.node.value));
    }
    const std::string name = layout.hosts().name(started.node);
    const std::vector<TaskId> planned = layout.task_ids(started.node);
    if (planned.size() != started.tasks.size()) {
        return layout_mismatch(formatted("{} tasks on {}, but Slurm started {}", planned.size(),
                                         name, started.tasks.size()));
    }
    for (std::size_t local = 0; local < planned.size(); ++local) {
        if (planned[local] == started.tasks[local]) continue;
        return layout_mismatch(
            formatted("task {} has local rank {} on {}, but Slurm started task {}",
                      planned[local].value, local, name, started.tasks[local].value));
    }
    return std::nullopt;
}

std::optional<ComponentOffset> component_offset(const ComponentTasks& component, LocalRank local,
                                                NodeIndex node, TaskId task) {
    const ComponentTaskId own = component.tasks[local.value];
    if (node.value < component.node.value || task.value < own.value) return std::nullopt;
    return ComponentOffset{node.value - component.node.value, task.value - own.value};
}

std::vector<ComponentOffset> possible_offsets(const StepLayout& whole,
                                              const ComponentTasks& component,
                                              const std::string& host) {
    std::vector<ComponentOffset> anywhere;
    std::vector<ComponentOffset> on_host;
    ComponentOffset before;
    while (component.node.value + before.nodes < whole.node_count()) {
        const LocalTasks here = to_whole_step(component, before);
        if (!check_layout(whole, here)) {
            anywhere.push_back(before);
            if (whole.hosts().name(here.node) == host) on_host.push_back(before);
        }
        before.tasks += whole.tasks_on(NodeIndex{before.nodes});
        ++before.nodes;
    }
    return on_host.empty() ? anywhere : on_host;
}

LocalTasks to_whole_step(const ComponentTasks& component, ComponentOffset before) {
    LocalTasks whole{NodeIndex{component.node.value + before.nodes}, {}};
    for (const ComponentTaskId task : component.tasks) {
        whole.tasks.push_back(TaskId{task.value + before.tasks});
    }
    return whole;
}

}  // namespace distgpu
