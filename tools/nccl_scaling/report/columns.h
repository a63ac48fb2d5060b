// The columns of the measurements. A row of this table is what the terminal, CSV, JSON and the page
// know of a column; which columns they show, and in which order, each of them says itself.
#pragma once

#include "results/results.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace distgpu::scaling {

enum class Column : std::uint8_t {
    group_kind,
    group,
    nodes,
    ranks,
    collective,
    op,
    type,
    in_place,
    bytes,
    median,
    mean,
    min,
    p5,
    p95,
    p99,
    cv,
    iterations,
    algbw,
    busbw,
};

// As CSV and JSON have it: in bytes, seconds and bytes per second. Nothing: not defined.
using CellValue = std::variant<std::string, bool, std::uint64_t, std::optional<double>>;

// How people read the numbers of a column.
struct Unit {
    std::string_view symbol;
    std::string (*text)(std::optional<double> value);
};

struct ColumnRow {
    Column column;
    std::string_view json;     // the member's name
    std::string_view csv;      // the field's name, which has the unit
    std::string_view heading;  // on the terminal and on the page; empty: it is on neither
    Unit unit;                 // there
    CellValue (*value)(const Results& results, const Measurement& measurement);
};

const ColumnRow& row_of(Column column);

// As people read it, without its unit: "in", "16", "402.65"; "n/a": not defined.
std::string text_of(const ColumnRow& column, const CellValue& value);

}  // namespace distgpu::scaling
