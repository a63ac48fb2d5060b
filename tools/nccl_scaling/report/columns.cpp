#include "report/columns.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/names.h"
#include "report/units.h"
#include "report/words.h"

#include <algorithm>
#include <array>

namespace distgpu::scaling {
namespace {

constexpr Unit none{"", nullptr};
constexpr Unit size{"B", nullptr};
constexpr Unit microseconds{
    "us", [](std::optional<double> seconds) { return formatted("{:.2f}", *seconds * 1e6); }};
constexpr Unit gigabytes{"GB/s", format_bandwidth};
constexpr Unit percent{
    "%", [](std::optional<double> share) { return formatted("{:.1f}", *share * 100); }};

const Group& group_of(const Results& results, const Measurement& measurement) {
    return results.groups[measurement.group];
}

template <double Statistics::*part>
CellValue statistic(const Results& /*results*/, const Measurement& measurement) {
    return std::optional(measurement.time.*part);
}

CellValue kind_of_group(const Results& results, const Measurement& measurement) {
    return std::string(words::word_of(words::group_kinds, group_of(results, measurement).kind));
}
CellValue label_of_group(const Results& results, const Measurement& measurement) {
    return group_label(results, group_of(results, measurement));
}
CellValue nodes(const Results& results, const Measurement& measurement) {
    return std::uint64_t{group_of(results, measurement).nodes.size()};
}
CellValue ranks(const Results& results, const Measurement& measurement) {
    return std::uint64_t{group_of(results, measurement).ranks};
}
CellValue collective(const Results& /*results*/, const Measurement& measurement) {
    return std::string(row_of(measurement.collective).name);
}
CellValue op(const Results& /*results*/, const Measurement& measurement) {
    return std::string(op_name(measurement.collective, measurement.op));
}
CellValue type(const Results& /*results*/, const Measurement& measurement) {
    return std::string(row_of(measurement.type).name);
}
CellValue in_place(const Results& /*results*/, const Measurement& measurement) {
    return measurement.in_place;
}
CellValue bytes(const Results& /*results*/, const Measurement& measurement) {
    return measurement.bytes;
}
CellValue iterations(const Results& /*results*/, const Measurement& measurement) {
    return std::uint64_t{measurement.time.iterations};
}
CellValue algbw(const Results& /*results*/, const Measurement& measurement) {
    return algorithm_bandwidth(measurement);
}
CellValue busbw(const Results& results, const Measurement& measurement) {
    return bus_bandwidth(results, measurement);
}

// In the order of Column.
constexpr std::array columns{
    ColumnRow{Column::group_kind, "", "group_kind", "", none, kind_of_group},
    ColumnRow{Column::group, "", "group", "group", none, label_of_group},
    ColumnRow{Column::nodes, "", "nodes", "nodes", none, nodes},
    ColumnRow{Column::ranks, "", "ranks", "ranks", none, ranks},
    ColumnRow{Column::collective, "collective", "collective", "collective", none, collective},
    ColumnRow{Column::op, "op", "op", "op", none, op},
    ColumnRow{Column::type, "type", "type", "type", none, type},
    ColumnRow{Column::in_place, "in_place", "in_place", "place", none, in_place},
    ColumnRow{Column::bytes, "bytes", "bytes", "size", size, bytes},
    ColumnRow{Column::median, "median", "median_s", "median", microseconds,
              statistic<&Statistics::median>},
    ColumnRow{Column::mean, "mean", "mean_s", "", microseconds, statistic<&Statistics::mean>},
    ColumnRow{Column::min, "min", "min_s", "", microseconds, statistic<&Statistics::min>},
    ColumnRow{Column::p5, "p5", "p5_s", "p5", microseconds, statistic<&Statistics::p5>},
    ColumnRow{Column::p95, "p95", "p95_s", "p95", microseconds, statistic<&Statistics::p95>},
    ColumnRow{Column::p99, "p99", "p99_s", "p99", microseconds, statistic<&Statistics::p99>},
    ColumnRow{Column::cv, "cv", "cv", "cv", percent, statistic<&Statistics::cv>},
    ColumnRow{Column::iterations, "iterations", "iterations", "", none, iterations},
    ColumnRow{Column::algbw, "algbw", "algbw_bytes_per_s", "algbw", gigabytes, algbw},
    ColumnRow{Column::busbw, "busbw", "busbw_bytes_per_s", "busbw", gigabytes, busbw},
};

struct TextOf {
    const Unit& unit;

    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(bool in_place) const { return in_place ? "in" : "out"; }
    std::string operator()(std::uint64_t number) const { return std::to_string(number); }
    std::string operator()(std::optional<double> quantity) const { return unit.text(quantity); }
};

}  // namespace

const ColumnRow& row_of(Column column) {
    return columns[static_cast<std::size_t>(column)];
}

std::string text_of(const ColumnRow& column, const CellValue& value) {
    return std::visit(TextOf{column.unit}, value);
}

}  // namespace distgpu::scaling
