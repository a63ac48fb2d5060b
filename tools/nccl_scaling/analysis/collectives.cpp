#include "analysis/collectives.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

// Every element crosses a link once on the way to its sum, and once on the way back.
double reduced_and_returned(double ranks) {
    return 2 * (ranks - 1) / ranks;
}
// Each rank already has one of the n parts.
double all_but_own_part(double ranks) {
    return (ranks - 1) / ranks;
}
double whole_buffer(double /*ranks*/) {
    return 1;
}

}  // namespace

const std::array<CollectiveInfo, 6> collectives{
    CollectiveInfo{Collective::all_reduce, "all-reduce", reduced_and_returned, true},
    CollectiveInfo{Collective::all_gather, "all-gather", all_but_own_part, false},
    CollectiveInfo{Collective::reduce_scatter, "reduce-scatter", all_but_own_part, true},
    CollectiveInfo{Collective::broadcast, "broadcast", whole_buffer, false},
    CollectiveInfo{Collective::all_to_all, "all-to-all", all_but_own_part, false},
    CollectiveInfo{Collective::send_recv, "send-recv", whole_buffer, false},
};

const std::array<DataTypeInfo, 3> data_types{
    DataTypeInfo{DataType::f32, "float", 4},
    DataTypeInfo{DataType::f16, "half", 2},
    DataTypeInfo{DataType::bf16, "bfloat16", 2},
};

const CollectiveInfo& info_of(Collective collective) {
    return *std::ranges::find(collectives, collective, &CollectiveInfo::collective);
}

const DataTypeInfo& info_of(DataType type) {
    return *std::ranges::find(data_types, type, &DataTypeInfo::type);
}

std::optional<Collective> collective_named(std::string_view name) {
    const auto* const row = std::ranges::find(collectives, name, &CollectiveInfo::name);
    return row == collectives.end() ? std::nullopt : std::optional(row->collective);
}

std::optional<DataType> data_type_named(std::string_view name) {
    const auto* const row = std::ranges::find(data_types, name, &DataTypeInfo::name);
    return row == data_types.end() ? std::nullopt : std::optional(row->type);
}

BufferSizes buffer_sizes(const Operation& operation, std::uint32_t ranks) {
    const std::size_t all = operation.bytes / info_of(operation.type).bytes;
    const std::size_t part = all / ranks;
    switch (operation.collective) {
        case Collective::all_gather:
            return {part, part, part * ranks};
        case Collective::reduce_scatter:
            return {part, part * ranks, part};
        case Collective::all_to_all:
            return {part, part * ranks, part * ranks};
        default:
            return {all, all, all};
    }
}

std::optional<double> algorithm_bandwidth(const Measurement& measurement) {
    if (!(measurement.time.median > 0)) return std::nullopt;
    return static_cast<double>(measurement.operation.bytes) / measurement.time.median;
}

std::optional<double> bus_bandwidth(const Results& results, const Measurement& measurement) {
    const std::uint32_t ranks = results.groups[measurement.group].ranks;
    const auto bandwidth = algorithm_bandwidth(measurement);
    if (ranks < 2 || !bandwidth) return std::nullopt;
    return info_of(measurement.operation.collective).bus_factor(ranks) * *bandwidth;
}

}  // namespace distgpu::scaling
