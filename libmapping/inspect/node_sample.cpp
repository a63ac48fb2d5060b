#include "inspect/node_sample.h"

#include "base/json_fields.h"
#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.look/2";

struct SampleWithSchema {
    std::string schema;
    NodeSample sample;

    static void fields(auto& io, auto& it) {
        io("schema", it.schema);
        NodeSample::fields(io, it.sample);
    }
};

constexpr EnumNames<Change::Since> since_names{{"start", "given", "planned", "others"}};

// Whether each process has a moment for each time, and all stacks exist; other code relies on both.
bool is_consistent(const NodeSample& sample) {
    const std::size_t times = sample.times.size();
    const auto has_valid_stack = [&](const Moment& moment) {
        return !moment.stack || *moment.stack < sample.stacks.size();
    };
    return std::ranges::all_of(sample.processes,
                               [&](const ProcessSample& process) {
                                   return process.moments.size() == times &&
                                          std::ranges::all_of(process.moments, has_valid_stack);
                               }) &&
           std::ranges::all_of(sample.gpus,
                               [&](const GpuSample& gpu) { return gpu.busy.size() == times; });
}

}  // namespace

std::string_view name_of(Change::Since since) {
    return since_names.name_of(since);
}

template <>
struct JsonString<Change::Since> {
    static std::string text(Change::Since since) { return std::string(name_of(since)); }
    static std::optional<Change::Since> parse(std::string_view text) {
        return since_names.value_of(text);
    }
};

template <class Part>
JsonText to_json(const Part& part) {
    return fields_json(part);
}
template JsonText to_json(const Variable& variable);
template JsonText to_json(const Change& change);
template JsonText to_json(const Connection& connection);
template JsonText to_json(const GpuSample& gpu);

JsonText to_json(const NodeSample& sample) {
    return fields_json(SampleWithSchema{std::string(schema), sample});
}

std::optional<NodeSample> read_node_sample(std::string_view text) {
    auto sent = read_fields<SampleWithSchema>(text, 0);
    if (!sent || sent->schema != schema || !is_consistent(sent->sample)) return std::nullopt;
    return std::move(sent->sample);
}

}  // namespace distgpu
