// See carried_step.h.
#include "node/carried_step.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/json_fields.h"
#include "base/json_text.h"
#include "mapping/layout/node_order.h"
#include "mapping/rendezvous/host_port.h"
#include "mapping/request/request.h"
#include "node/layout_check.h"
#include "node/variables.h"

#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

constexpr std::string_view version = "v1:";

std::string run_again() {
    return formatted("run again without {}", carried_variable);
}

Error malformed(std::string_view what) {
    return {carried_variable, formatted("{} is missing or malformed", what), run_again()};
}

// What srun did not write is refused; null too, which it never writes.
std::string optional_text(const JsonFields& fields, const char* name) {
    return fields.has(name) ? fields.text(name) : "";
}

bool optional_flag(const JsonFields& fields, const char* name) {
    return fields.has(name) && fields.flag(name);
}

JsonText block_json(const TaskMapBlock& block) {
    return JsonText::list(std::array{block.node, block.nodes, block.tasks_per_node, block.repeat});
}

// Nothing: not four numbers of 32 bits.
std::optional<TaskMapBlock> block(JsonValue json) {
    constexpr std::size_t size = 4;
    const auto items = json.list();
    if (!items || items->size() != size) return std::nullopt;
    std::vector<std::uint32_t> numbers;
    for (const JsonValue item : *items) {
        const auto number = item.whole();
        if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
        numbers.push_back(static_cast<std::uint32_t>(*number));
    }
    return TaskMapBlock{numbers[0], numbers[1], numbers[2], numbers[3]};
}

std::vector<TaskMapBlock> blocks(const JsonFields& fields) {
    std::vector<TaskMapBlock> blocks;
    for (const JsonValue item : fields.list("task_map")) {
        const auto next = block(item);
        if (!next) fields.refuse("task_map", "not a list of four numbers each");
        blocks.push_back(next.value_or(TaskMapBlock{}));
    }
    return blocks;
}

constexpr std::size_t longest_file = 256;

// One that stands in the text as it is.
bool is_plain_path(std::string_view path) {
    return !path.empty() && path.front() == '/' && path.size() <= longest_file &&
           path.find_first_of("\"\\") == std::string_view::npos && printable(path) == path;
}

CarriedStep read_step(const JsonFields& fields, StepSize size) {
    CarriedStep step;
    step.job = fields.count<std::uint32_t>("job_id");
    step.step = fields.count<std::uint32_t>("step_id");
    step.refused = optional_flag(fields, "refused");
    step.cpu_bind = optional_flag(fields, "cpu_bind");
    step.ntasks = optional_flag(fields, "ntasks");
    step.helper = optional_flag(fields, "helper");
    step.rank0_address = optional_text(fields, "rank0_address");
    if (fields.has("rank0_address") && !is_host(step.rank0_address)) {
        fields.refuse("rank0_address", "not a host");
    }
    if (fields.has("gpus")) step.gpus = fields.count<std::uint32_t>("gpus");
    step.plugin_file = optional_text(fields, "plugin");
    if (fields.has("plugin") && !is_plain_path(step.plugin_file)) {
        fields.refuse("plugin", "not a path");
    }
    if (size.nodes == 0 || !fields.has("node_addresses")) return step;
    auto addresses = HostList::parse(fields.text("node_addresses"), size.nodes);
    if (!addresses) fields.refuse("node_addresses", "not a list of hosts");
    if (addresses) step.node_addresses = *std::move(addresses);
    return step;
}

struct LayoutText {
    std::string nodes;
    std::vector<TaskMapBlock> task_map;
    std::string order;  // empty: ranks as Slurm numbers the tasks
};

std::optional<LayoutText> read_layout(const JsonFields& fields) {
    if (!fields.has("nodes") && !fields.has("task_map")) return std::nullopt;
    return LayoutText{fields.text("nodes"), blocks(fields), optional_text(fields, "order")};
}

Error malformed(const JsonProblem& problem) {
    if (problem.field.empty()) return malformed("the JSON object");
    if (problem.field == "job_id" || problem.field == "step_id") {
        return malformed(R"("job_id" or "step_id")");
    }
    return malformed(formatted("\"{}\"", problem.field));
}

Result<StepLayout> layout_of(LayoutText text, StepSize most) {
    auto layout =
        HostList::parse(text.nodes, most.nodes)
            .and_then([&](HostList hosts) {
                return StepLayout::from_task_map(std::move(hosts), std::move(text.task_map));
            })
            .and_then([&](StepLayout slurms) -> Result<StepLayout> {
                if (text.order.empty()) return slurms;
                // In order, tasks in turns can take a block each.
                if (slurms.task_count() > most.tasks) return *check_size(slurms, most);
                return in_order(slurms, text.order);
            });
    if (layout) return layout;
    const Error& error = layout.error();
    return Error{carried_variable, formatted("{}: {}", error.object, error.problem), run_again()};
}

// What encode() writes at the most: each node's name, twice, and address, and a block for each
// task.
std::size_t longest_text(StepSize size) {
    constexpr std::size_t rest = 256 + HostList::max_name_length + longest_file;
    constexpr std::size_t of_node = 3 * (HostList::max_name_length + 1);
    constexpr std::size_t of_task = sizeof("[16777216,16777216,2147483648,2147483648],");
    return rest + size.nodes * of_node + size.tasks * of_task;
}

}  // namespace

std::string encode(const CarriedStep& step) {
    const auto dump = [](const auto& members) {
        return std::string(version) + JsonText(members).line();
    };
    std::vector<JsonMember> members{{"job_id", step.job}, {"step_id", step.step}};
    if (is_host(step.rank0_address)) members.push_back({"rank0_address", step.rank0_address});
    if (step.refused) members.push_back({"refused", true});
    if (step.cpu_bind) members.push_back({"cpu_bind", true});
    if (step.gpus > 0) members.push_back({"gpus", step.gpus});
    if (step.ntasks) members.push_back({"ntasks", true});
    if (step.helper) members.push_back({"helper", true});
    if (is_plain_path(step.plugin_file)) members.push_back({"plugin", step.plugin_file});
    if (!step.layout) return dump(members);
    auto with_layout = members;
    with_layout.push_back({"nodes", step.layout->hosts().to_string()});
    with_layout.push_back({"task_map", JsonText::list(step.layout->task_map(), block_json)});
    if (!step.layout->order().empty()) with_layout.push_back({"order", order_text(*step.layout)});
    std::string text = dump(with_layout);
    if (text.size() > max_carried_length) return dump(members);
    if (step.node_addresses.empty()) return text;
    with_layout.push_back({"node_addresses", step.node_addresses.to_string()});
    std::string with_addresses = dump(with_layout);
    return with_addresses.size() <= max_carried_length ? with_addresses : text;
}

Result<std::optional<CarriedStep>> decode(std::string_view text, const KnownStep& known) {
    if (text.substr(0, version.size()) != version) return std::optional<CarriedStep>{};
    if (text.size() > longest_text(known.size)) {
        return Error{
            carried_variable,
            formatted("{} characters, more than {} on {} need", text.size(),
                      counted(known.size.tasks, "task"), counted(known.size.nodes, "node")),
            run_again()};
    }
    CarriedStep step;
    std::optional<LayoutText> layout;
    const auto problem = read_json(text.substr(version.size()), [&](const JsonFields& fields) {
        step = read_step(fields, known.size);
        if (known.size.nodes > 0) layout = read_layout(fields);
    });
    if (problem) return malformed(*problem);
    if (step.job != known.job || step.step != known.step) return std::optional<CarriedStep>{};
    if (layout) {
        auto decoded = layout_of(*std::move(layout), known.size);
        if (!decoded) return decoded.error();
        step.layout = *std::move(decoded);
    }
    const std::uint64_t addresses = step.node_addresses.size();
    if (addresses > 0 && (!step.layout || step.layout->node_count() != addresses)) {
        return malformed("\"node_addresses\"");
    }
    return std::optional(std::move(step));
}

}  // namespace distgpu
