// What the ranks of `distgpu check` tell each other, to whose port anybody may send anything.
#include "check/pairs/network_trial.h"
#include "check/step_check.h"
#include "meet/proof.h"
#include "targets.h"

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

// A rank's report to `distgpu check` on rank 0, to whose port anybody may send anything.
void try_check_report(std::string_view text) {
    // Rank 0 cuts what it reads at the end of the line and at this length.
    const auto report = decode_report(text.substr(0, max_signed_text));
    if (!report) return;
    for (const auto* cell :
         {&report->cpus, &report->interface, &report->ports, &report->rendezvous}) {
        require_cell(*cell);
    }
    for (const Finding& finding : report->findings) require_error(finding.error);
    if (report->rendezvous_error) require_error(*report->rendezvous_error);
    const std::string line = encode_report(*report);
    require(line.find('\n') == std::string::npos, "a report is one line");
    require(decode_report(line) == report, "it is read back as it was written");
}

// What rank 0 and the nodes tell each other of the trial of the network.
void try_trial_lines(std::string_view text) {
    if (const auto order = decode_order(text)) {
        require(decode_order(encode(*order)) == order, "an order is read back as it was written");
    }
    const auto result = decode_result(text);
    if (!result) return;
    for (const SendResult& sent : result->sent) {
        if (!sent.problem.empty()) require_line(sent.problem);
    }
    require(encode(*result).find('\n') == std::string::npos, "a result is one line");
    require(decode_result(encode(*result)) == result, "a result is read back as it was written");
    // Whatever a node claims of others, no more of them are at fault than it names.
    const auto faults = find_network_faults({*result, *result, {}});
    require(faults.size() <= 2 * (result->sent.size() + result->received.size() + 3),
            "faults are of nodes that were named");
}

}  // namespace distgpu
