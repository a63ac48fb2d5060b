#include "analysis/collectives.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

// Every element goes over a link once on the way to its sum, and once back.
double reduced_and_returned(double ranks) {
    return 2 * (ranks - 1) / ranks;
}
// Each rank has one part of n already.
double all_but_own_part(double ranks) {
    return (ranks - 1) / ranks;
}
double whole_buffer(double /*ranks*/) {
    return 1;
}

}  // namespace

const std::array<CollectiveRow, 6> collectives{
    CollectiveRow{Collective::all_reduce, "all-reduce", reduced_and_returned, true},
    CollectiveRow{Collective::all_gather, "all-gather", all_but_own_part, false},
    CollectiveRow{Collective::reduce_scatter, "reduce-scatter", all_but_own_part, true},
    CollectiveRow{Collective::broadcast, "broadcast", whole_buffer, false},
    CollectiveRow{Collective::all_to_all, "all-to-all", all_but_own_part, false},
    CollectiveRow{Collective::send_recv, "send-recv", whole_buffer, false},
};

const std::array<DataTypeRow, 3> data_types{
    DataTypeRow{DataType::f32, "float", 4},
    DataTypeRow{DataType::f16, "half", 2},
    DataTypeRow{DataType::bf16, "bfloat16", 2},
};

const CollectiveRow& row_of(Collective collective) {
    return *std::ranges::find(collectives, collective, &CollectiveRow::collective);
}

const DataTypeRow& row_of(DataType type) {
    return *std::ranges::find(data_types, type, &DataTypeRow::type);
}

std::optional<Collective> collective_named(std::string_view name) {
    const auto* const row = std::ranges::find(collectives, name, &CollectiveRow::name);
    return row == collectives.end() ? std::nullopt : std::optional(row->collective);
}

std::optional<DataType> data_type_named(std::string_view name) {
    const auto* const row = std::ranges::find(data_types, name, &DataTypeRow::name);
    return row == data_types.end() ? std::nullopt : std::optional(row->type);
}

Extent extent_of(const Subject& subject, std::uint32_t ranks) {
    const std::size_t all = subject.bytes / row_of(subject.type).bytes;
    const std::size_t part = all / ranks;
    switch (subject.collective) {
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
    return static_cast<double>(measurement.subject.bytes) / measurement.time.median;
}

std::optional<double> bus_bandwidth(const Results& results, const Measurement& measurement) {
    const std::uint32_t ranks = results.groups[measurement.group].ranks;
    const auto bandwidth = algorithm_bandwidth(measurement);
    if (ranks < 2 || !bandwidth) return std::nullopt;
    return row_of(measurement.subject.collective).bus_factor(ranks) * *bandwidth;
}

}  // namespace distgpu::scaling
