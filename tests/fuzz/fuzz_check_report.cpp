// A rank's report to `distgpu check` on rank 0, to whose port anybody may send anything.
#include "check/report.h"
#include "meet/proof.h"
#include "require.h"
#include "target.h"

#include <string>

namespace distgpu {
namespace {

constexpr std::size_t longest = 500;

// What rank 0 prints of it.
void require_cell(const std::string& text) {
    require(text.size() <= longest, "a text fits a line");
    if (!text.empty()) require_line(text);
}

void require_error(const Error& error) {
    require_cell(error.object);
    require_cell(error.problem);
    require_cell(error.remedy);
}

}  // namespace

void try_text(std::string_view text) {
    // Rank 0 cuts what it reads at the end of the line and at this length.
    const auto report = decode_report(text.substr(0, longest_text));
    if (!report) return;
    for (const auto* cell :
         {&report->cpus, &report->interface, &report->ports, &report->rendezvous}) {
        require_cell(*cell);
    }
    for (const Finding& finding : report->findings) require_error(finding.error);
    if (report->unreached) require_error(*report->unreached);
    const std::string line = encode_report(*report);
    require(line.find('\n') == std::string::npos, "a report is one line");
    require(decode_report(line) == report, "it is read back as it was written");
}

}  // namespace distgpu
