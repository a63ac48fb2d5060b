#include "node/run_report.h"

#include "base/format.h"
#include "base/json_fields.h"

namespace distgpu {
namespace {

constexpr std::size_t max_text = 1000;  // so that a line fits into a message

}  // namespace

std::string to_line(const RunReport& report) {
    return fields_json(RunReport{printable(report.text.substr(0, max_text)),
                                 report.nodes.substr(0, max_text), report.is_unfit})
        .line();
}

std::optional<RunReport> read_run_report(std::string_view line) {
    return read_fields<RunReport>(line, max_text);
}

void send_run_report(const std::optional<SrunAddress>& srun, const RunReport& report) {
    if (srun) send_to_srun(*srun, {run_report_message, {to_line(report)}});
}

}  // namespace distgpu
