// The tables of collectives and data types; bandwidths.
#include "analysis/bus_bandwidth.h"

#include "analysis/flow.h"

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
// The share of the buffer that goes to others.
double uneven_parts(double ranks) {
    const auto count = static_cast<std::uint32_t>(ranks);
    double quarters = 0;
    for (std::uint32_t to = 1; to < count; ++to) quarters += quarters_of_room(0, to, count);
    return quarters / (4 * ranks);
}
double whole_buffer(double /*ranks*/) {
    return 1;
}

constexpr std::string_view of_nccl_2_24 = "NCCL 2.24 or newer";

template <class Table>
auto named(const Table& table, std::string_view name) {
    return std::find_if(table.begin(), table.end(),
                        [&](const auto& row) { return row.name == name; });
}

}  // namespace

const std::array<CollectiveRow, 11> collectives{
    CollectiveRow{Collective::all_reduce, "all-reduce", reduced_and_returned, true, true},
    CollectiveRow{Collective::all_gather, "all-gather", all_but_own_part, false, true},
    CollectiveRow{Collective::reduce_scatter, "reduce-scatter", all_but_own_part, true, true},
    CollectiveRow{Collective::broadcast, "broadcast", whole_buffer, false, true},
    CollectiveRow{Collective::reduce, "reduce", whole_buffer, true, true},
    CollectiveRow{Collective::all_to_all, "all-to-all", all_but_own_part, false, true},
    CollectiveRow{Collective::send_recv, "send-recv", whole_buffer, false, true},
    CollectiveRow{Collective::gather, "gather", all_but_own_part, false, false},
    CollectiveRow{Collective::scatter, "scatter", all_but_own_part, false, false},
    CollectiveRow{Collective::all_to_all_v, "all-to-all-v", uneven_parts, false, false},
    CollectiveRow{Collective::bisection, "bisection", whole_buffer, false, false},
};

const std::array<DataTypeRow, 9> data_types{
    DataTypeRow{DataType::f32, "float", 4},
    DataTypeRow{DataType::f64, "double", 8},
    DataTypeRow{DataType::f16, "half", 2},
    DataTypeRow{DataType::bf16, "bfloat16", 2},
    DataTypeRow{DataType::f8e4m3, "f8e4m3", 1, of_nccl_2_24},
    DataTypeRow{DataType::f8e5m2, "f8e5m2", 1, of_nccl_2_24},
    DataTypeRow{DataType::i8, "int8", 1},
    DataTypeRow{DataType::i32, "int32", 4},
    DataTypeRow{DataType::i64, "int64", 8},
};

const std::array<OpRow, 5> ops{
    OpRow{Op::sum, "sum"},   OpRow{Op::max, "max"}, OpRow{Op::min, "min"},
    OpRow{Op::prod, "prod"}, OpRow{Op::avg, "avg"},
};

const CollectiveRow& row_of(Collective collective) {
    return *std::find_if(collectives.begin(), collectives.end(),
                         [&](const auto& row) { return row.collective == collective; });
}

const DataTypeRow& row_of(DataType type) {
    return *std::find_if(data_types.begin(), data_types.end(),
                         [&](const auto& row) { return row.type == type; });
}

const OpRow& row_of(Op op) {
    return *std::find_if(ops.begin(), ops.end(), [&](const auto& row) { return row.op == op; });
}

bool is_reduction(Collective collective) {
    return row_of(collective).reduces;
}

std::string_view op_name(Collective collective, Op op) {
    return is_reduction(collective) ? row_of(op).name : "none";
}

std::optional<Collective> collective_named(std::string_view name) {
    const auto row = named(collectives, name);
    return row == collectives.end() ? std::nullopt : std::optional(row->collective);
}

std::optional<DataType> data_type_named(std::string_view name) {
    const auto row = named(data_types, name);
    return row == data_types.end() ? std::nullopt : std::optional(row->type);
}

std::optional<Op> op_named(std::string_view name) {
    const auto row = named(ops, name);
    return row == ops.end() ? std::nullopt : std::optional(row->op);
}

std::optional<double> algorithm_bandwidth(const Measurement& measurement) {
    if (!(measurement.time.median > 0)) return std::nullopt;
    return static_cast<double>(measurement.bytes) / measurement.time.median;
}

std::optional<double> bus_factor(Collective collective, std::uint32_t ranks) {
    if (ranks < 2) return std::nullopt;
    return row_of(collective).bus_factor(ranks);
}

std::optional<double> bus_bandwidth(const Results& results, const Measurement& measurement) {
    const auto factor = bus_factor(measurement.collective, results.groups[measurement.group].ranks);
    const auto bandwidth = algorithm_bandwidth(measurement);
    if (!factor || !bandwidth) return std::nullopt;
    return *factor * *bandwidth;
}

}  // namespace distgpu::scaling
