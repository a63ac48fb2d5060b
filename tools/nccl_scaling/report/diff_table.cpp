#include "report/diff_table.h"

#include "analysis/compare.h"
#include "base/format.h"
#include "report/names.h"
#include "report/units.h"

namespace distgpu::scaling {
namespace {

constexpr std::string_view row = "{:>15}  {:>12}  {:>8}  {}\n";

}  // namespace

std::string diff_table(const Results& before, const Results& after) {
    std::string text =
        formatted("# before: started {}\n# after: started {}\n", before.started, after.started);
    std::string head = formatted(row, "before (GB/s)", "after (GB/s)", "change", "busbw of");
    text += head.replace(0, 1, "#");
    for (const auto& [measurement, was, is] : changes(before, after)) {
        text += formatted(row, format_bandwidth(was), format_bandwidth(is),
                          formatted("{:+.1f} %", 100 * (is / was - 1)),
                          measurement_name(after, after.measurements[measurement]));
    }
    return text;
}

}  // namespace distgpu::scaling
