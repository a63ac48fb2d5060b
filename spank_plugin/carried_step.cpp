// See carried_step.h.
#include "carried_step.h"

#include "base/format.h"
#include "mapping/spec/request.h"
#include "node/variables.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace distgpu {
namespace {

using Json = nlohmann::json;

constexpr std::string_view version = "v1:";

std::string run_again() {
    return formatted("run again without {}", carried_variable);
}

Error malformed(std::string_view what) {
    return {carried_variable, formatted("{} is missing or malformed", what), run_again()};
}

std::optional<std::uint32_t> number(const Json& json) {
    if (!json.is_number_unsigned()) return std::nullopt;
    const auto value = json.get<std::uint64_t>();
    if (value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> number(const Json& object, const char* name) {
    const auto member = object.find(name);
    return member == object.end() ? std::nullopt : number(*member);
}

// False where it is absent; nothing where it is something else.
std::optional<bool> flag(const Json& object, const char* name) {
    const auto member = object.find(name);
    if (member == object.end()) return false;
    return member->is_boolean() ? std::optional(member->get<bool>()) : std::nullopt;
}

std::optional<TaskMapBlock> block(const Json& json) {
    if (!json.is_array() || json.size() != 4) return std::nullopt;
    const auto node = number(json[0]);
    const auto nodes = number(json[1]);
    const auto tasks_per_node = number(json[2]);
    const auto repeat = number(json[3]);
    if (!node || !nodes || !tasks_per_node || !repeat) return std::nullopt;
    return TaskMapBlock{*node, *nodes, *tasks_per_node, *repeat};
}

Result<StepLayout> layout(const Json& object) {
    const auto nodes = object.find("nodes");
    if (nodes == object.end() || !nodes->is_string()) return malformed("\"nodes\"");
    const auto map = object.find("task_map");
    if (map == object.end() || !map->is_array()) return malformed("\"task_map\"");
    std::vector<TaskMapBlock> blocks;
    for (const Json& entry : *map) {
        const auto next = block(entry);
        if (!next) return malformed("\"task_map\"");
        blocks.push_back(*next);
    }
    auto layout =
        HostList::parse(nodes->get_ref<const std::string&>()).and_then([&](HostList hosts) {
            return StepLayout::from_task_map(std::move(hosts), std::move(blocks));
        });
    if (layout) return layout;
    const Error& error = layout.error();
    return Error{carried_variable, formatted("{}: {}", error.object, error.problem), run_again()};
}

Result<std::optional<CarriedStep>> decode_object(const Json& object) {
    if (!object.is_object()) return malformed("the JSON object");
    CarriedStep step;
    const auto job_id = number(object, "job_id");
    const auto step_id = number(object, "step_id");
    if (!job_id || !step_id) return malformed(R"("job_id" or "step_id")");
    step.job = *job_id;
    step.step = *step_id;
    const auto refused = flag(object, "refused");
    if (!refused) return malformed("\"refused\"");
    const auto cpu_bind = flag(object, "cpu_bind");
    if (!cpu_bind) return malformed("\"cpu_bind\"");
    step.refused = *refused;
    step.cpu_bind = *cpu_bind;
    if (const auto address = object.find("rank0_address"); address != object.end()) {
        if (!address->is_string()) return malformed("\"rank0_address\"");
        step.rank0_address = address->get<std::string>();
        if (!is_host(step.rank0_address)) return malformed("\"rank0_address\"");
    }
    if (const auto addresses = object.find("node_addresses"); addresses != object.end()) {
        if (!addresses->is_string()) return malformed("\"node_addresses\"");
        auto list = HostList::parse(addresses->get_ref<const std::string&>());
        if (!list) return malformed("\"node_addresses\"");
        step.node_addresses = *std::move(list);
    }
    if (object.contains("nodes") || object.contains("task_map")) {
        auto decoded = layout(object);
        if (!decoded) return decoded.error();
        step.layout = *std::move(decoded);
    }
    const std::uint64_t addresses = step.node_addresses.size();
    if (addresses > 0 && (!step.layout || step.layout->node_count() != addresses)) {
        return malformed("\"node_addresses\"");
    }
    return std::optional(std::move(step));
}

}  // namespace

std::string encode(const CarriedStep& step) {
    Json object{{"job_id", step.job}, {"step_id", step.step}};
    if (is_host(step.rank0_address)) object["rank0_address"] = step.rank0_address;
    if (step.refused) object["refused"] = true;
    if (step.cpu_bind) object["cpu_bind"] = true;
    const auto dump = [](const Json& json) { return std::string(version) + json.dump(); };
    if (!step.layout) return dump(object);
    Json with_layout = object;
    with_layout["nodes"] = step.layout->hosts().to_string();
    Json map = Json::array();
    for (const TaskMapBlock& entry : step.layout->task_map()) {
        map.push_back({entry.node, entry.nodes, entry.tasks_per_node, entry.repeat});
    }
    with_layout["task_map"] = std::move(map);
    std::string text = dump(with_layout);
    if (text.size() > max_carried_length) return dump(object);
    if (step.node_addresses.empty()) return text;
    with_layout["node_addresses"] = step.node_addresses.to_string();
    std::string with_addresses = dump(with_layout);
    return with_addresses.size() <= max_carried_length ? with_addresses : text;
}

Result<std::optional<CarriedStep>> decode(std::string_view text) {
    if (text.substr(0, version.size()) != version) return std::optional<CarriedStep>{};
    constexpr bool throw_on_error = false;
    return decode_object(
        Json::parse(text.substr(version.size()), /*callback=*/nullptr, throw_on_error));
}

}  // namespace distgpu
