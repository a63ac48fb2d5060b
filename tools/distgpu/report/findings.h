// What went wrong in a step, and what limits it, as far as its report proves it.
#pragma once

#include "report/node_report.h"

#include <set>

namespace distgpu {

// What a user should know first comes first: what broke the step, then what costs the most time,
// then what is to be expected, then what nobody measured.
enum class Weight : std::uint8_t {
    lost_gpu,
    xid,
    lost_node,
    failed_rank,
    unused_gpu,
    cpu_bound,  // ranks wait for their data loaders
    rank0,      // the others wait for rank 0
    odd_node,
    odd_ranks,
    growth,  // of memory
    throttled,
    narrow_pcie,
    start_up,
    restarts,
    missing_report,
    unmeasured,
    power_cap,
};

struct ReportFinding {
    Weight weight;
    std::string text;
};

using ReportFindings = std::vector<ReportFinding>;

// GPUs that were lost, had errors or slow clocks, ranks that failed, and what was not measured.
ReportFindings find_faults(const StepReport& report);

// Ranks whose GPUs wait because all their CPUs are in use, and the numbers of these ranks.
struct CpuBound {
    ReportFindings findings{};
    std::set<std::uint32_t> ranks{};
};
CpuBound find_cpu_bound(const StepReport& report);

// What the GPUs waited for, that included.
ReportFindings find_waits(const StepReport& report);

// Memory that grows until it runs out.
ReportFindings find_growth(const StepReport& report);

// Why the node's GPUs could be slower than others: "hardware thermal slowed its clocks 82% of the
// time"; empty if nothing of the kind was seen.
std::string hindrance_of(const NodeReport& node);

}  // namespace distgpu
