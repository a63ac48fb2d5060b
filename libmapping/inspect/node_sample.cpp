#include "inspect/node_sample.h"

#include "base/json_fields.h"
#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.look/3";

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
    if (!sample.ends.empty() && sample.ends.size() != times) return false;
    const auto is_index = [&](const std::optional<std::uint32_t>& stack) {
        return !stack || *stack < sample.stacks.size();
    };
    const auto has_valid_stack = [&](const Moment& moment) { return is_index(moment.stack); };
    return std::ranges::all_of(sample.processes,
                               [&](const ProcessSample& process) {
                                   return process.moments.size() == times &&
                                          is_index(process.native) &&
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

namespace {

std::uint32_t index_of(const Stack& stack, std::vector<Stack>& stacks) {
    const auto found = std::ranges::find(stacks, stack);
    const auto index = static_cast<std::uint32_t>(found - stacks.begin());
    if (found == stacks.end()) stacks.push_back(stack);
    return index;
}

}  // namespace

void prepend_moments(const NodeSample& earlier, NodeSample& sample) {
    std::vector<double> times = earlier.times;
    for (const double time : sample.times) {
        times.push_back(sample.began - earlier.began + time);
    }
    sample.times = std::move(times);
    std::vector<double> ends = earlier.ends;
    for (const double end : sample.ends) ends.push_back(sample.began - earlier.began + end);
    sample.ends = std::move(ends);
    sample.began = earlier.began;
    sample.traffic += earlier.traffic;
    for (ProcessSample& process : sample.processes) {
        const auto before = std::ranges::find_if(earlier.processes, [&](const auto& each) {
            return each.pid == process.pid && each.begin == process.begin;
        });
        std::vector<Moment> moments(earlier.times.size());
        if (before != earlier.processes.end()) {
            moments = before->moments;
            for (Moment& moment : moments) {
                if (moment.stack) {
                    moment.stack = index_of(earlier.stacks[*moment.stack], sample.stacks);
                }
            }
        }
        moments.insert(moments.end(), process.moments.begin(), process.moments.end());
        process.moments = std::move(moments);
    }
    for (GpuSample& gpu : sample.gpus) {
        const auto before = std::ranges::find(earlier.gpus, gpu.pci, &GpuSample::pci);
        auto busy =
            before == earlier.gpus.end() ? decltype(gpu.busy)(earlier.times.size()) : before->busy;
        busy.insert(busy.end(), gpu.busy.begin(), gpu.busy.end());
        gpu.busy = std::move(busy);
    }
}

}  // namespace distgpu
