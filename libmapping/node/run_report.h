// What `distgpu run` learns about the end of a step: srun's plugin writes it into a file that
// `distgpu run` names in SLURM_DISTGPU_REPORT, and the nodes send it to srun first.
#pragma once

#include "node/srun_messages.h"

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

inline constexpr const char* run_report_message = "report";

struct RunReport {
    std::string text{};   // "rank 3 on node02 failed first: it ended with status 1"
    std::string nodes{};  // a host list: where that happened; empty if unknown
    // The check found these nodes unfit; otherwise the program may be to blame as well.
    bool is_unfit = false;

    static void fields(auto& io, auto& it) {
        io("text", it.text, "nodes", it.nodes, "is_unfit", it.is_unfit);
    }
};

// A line for the file.
std::string to_line(const RunReport& report);

// nullopt for any other text.
std::optional<RunReport> read_run_report(std::string_view line);

// On a node of the step. `srun`: as of read_srun_address(); does nothing if srun does not listen.
void send_run_report(const std::optional<SrunAddress>& srun, const RunReport& report);

}  // namespace distgpu
