#include "inspect/look.h"

#include "base/json_fields.h"
#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.look/2";

// As it is sent.
struct SentLook {
    std::string schema;
    NodeLook look;

    static void fields(auto& io, auto& it) {
        io("schema", it.schema);
        NodeLook::fields(io, it.look);
    }
};

constexpr EnumWords<Change::Since> since_words{{"start", "given", "planned", "others"}};

// What the rest of the program relies on: a moment for each time, and stacks that are there.
bool is_sound(const NodeLook& look) {
    const std::size_t times = look.times.size();
    const auto has_its_stack = [&](const Moment& moment) {
        return !moment.stack || *moment.stack < look.stacks.size();
    };
    return std::ranges::all_of(look.processes,
                               [&](const ProcessLook& process) {
                                   return process.moments.size() == times &&
                                          std::ranges::all_of(process.moments, has_its_stack);
                               }) &&
           std::ranges::all_of(look.gpus,
                               [&](const GpuLook& gpu) { return gpu.busy.size() == times; });
}

}  // namespace

std::string_view name_of(Change::Since since) {
    return since_words.word_of(since);
}

template <>
struct JsonWord<Change::Since> {
    static std::string text(Change::Since since) { return std::string(name_of(since)); }
    static std::optional<Change::Since> parse(std::string_view text) {
        return since_words.value_of(text);
    }
};

template <class Part>
JsonText to_json(const Part& part) {
    return fields_json(part);
}
template JsonText to_json(const Variable& variable);
template JsonText to_json(const Change& change);
template JsonText to_json(const Connection& connection);
template JsonText to_json(const GpuLook& gpu);

JsonText to_json(const NodeLook& look) {
    return fields_json(SentLook{std::string(schema), look});
}

std::optional<NodeLook> read_node_look(std::string_view text) {
    auto sent = read_fields<SentLook>(text, 0);
    if (!sent || sent->schema != schema || !is_sound(sent->look)) return std::nullopt;
    return std::move(sent->look);
}

}  // namespace distgpu
