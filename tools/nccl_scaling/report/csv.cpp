// The measurements as CSV.
#include "base/format.h"
#include "report/columns.h"
#include "report/formats.h"
#include "report/words.h"

#include <array>
#include <string_view>

namespace distgpu::scaling {
namespace {

constexpr std::string_view run_header = "backend,note,started,complete";

constexpr std::array columns{Column::group_kind, Column::group,  Column::nodes, Column::ranks,
                             Column::collective, Column::op,     Column::type,  Column::in_place,
                             Column::bytes,      Column::median, Column::mean,  Column::min,
                             Column::p5,         Column::p95,    Column::p99,   Column::cv,
                             Column::iterations, Column::algbw,  Column::busbw};

// Quoted where the text has a separator, a quote or a line end; a quote is then doubled.
std::string quoted(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string field = "\"";
    for (const char c : text) field.append(c == '"' ? 2 : 1, c);
    return field + '"';
}

struct Field {
    std::string operator()(const std::string& text) const { return quoted(text); }
    std::string operator()(bool flag) const { return formatted("{}", flag); }
    std::string operator()(std::uint64_t number) const { return std::to_string(number); }
    std::string operator()(const std::optional<double>& number) const {
        return number ? formatted("{}", *number) : "";
    }
};

std::string header() {
    std::string text(run_header);
    for (const Column column : columns) text += formatted(",{}", row_of(column).csv);
    return text + "\r\n";
}

std::string run_fields(const ReportInput& input) {
    const Results& results = input.results;
    return formatted("{},{},{},{}", quoted(results.backend), words::note(results),
                     quoted(results.started), is_complete(input));
}

}  // namespace

std::string to_csv(const ReportInput& input) {
    const Results& results = input.results;
    const std::string run = run_fields(input);
    std::string text = header();
    for (const Measurement& measurement : results.measurements) {
        text += run;
        for (const Column column : columns) {
            text += ',';
            text += std::visit(Field{}, row_of(column).value(results, measurement));
        }
        text += "\r\n";
    }
    return text;
}

}  // namespace distgpu::scaling
