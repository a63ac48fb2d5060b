// Finds GPUs that were lost, had errors, slow clocks or nothing to do, ranks that failed, and what
// was not measured.
#include "base/format.h"
#include "base/io/programs.h"
#include "node/failed_task.h"
#include "report/findings.h"
#include "report/summary.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <map>
#include <utility>

namespace distgpu {
namespace {

constexpr double percent = 100;

// Slower clocks for a tenth of the time cost at most a few percent: below that they are no news.
constexpr double min_slow_share = 0.1;

// GPUs under full load run at their power cap by design, so this is reported only if it was most
// of the time.
constexpr double min_capped_share = 0.5;

bool is_power_cap(const SlowClock& slow) {
    return slow.reason == "power cap";
}

double share_of(const SlowClock& slow, const NodeReport& node) {
    return node.seconds > 0 ? slow.seconds / node.seconds : 0;
}

bool is_narrow(const GpuReport& gpu) {
    return gpu.pcie_width > 0 && gpu.pcie_width < gpu.pcie_width_max;
}

// "GPU A on n1 (rank 0)", "GPU A on n1 (rank 0) and 3 other GPUs".
std::string first_and_others(const std::vector<GpuOnNode>& gpus) {
    return name_of(gpus.front()) +
           (gpus.size() > 1 ? " and " + counted(gpus.size() - 1, "other GPU") : "");
}

template <class IsWanted>
std::vector<GpuOnNode> gpus_where(const StepReport& report, IsWanted is_wanted) {
    std::vector<GpuOnNode> gpus = gpus_of(report);
    std::erase_if(gpus, [&](const GpuOnNode& each) { return !is_wanted(*each.gpu); });
    return gpus;
}

void add_lost_gpus(const StepReport& report, ReportFindings& findings) {
    auto lost = gpus_where(report, [](const GpuReport& gpu) { return gpu.lost.has_value(); });
    if (lost.empty()) return;
    const auto time = [](const GpuOnNode& each) { return each.node->began + *each.gpu->lost; };
    std::ranges::stable_sort(lost, {}, time);
    findings.push_back(
        {Weight::lost_gpu, formatted("{} fell off the bus after {}", first_and_others(lost),
                                     time_text(*lost.front().gpu->lost))});
}

// Of those that stop jobs, from NVIDIA's "XID Errors".
std::string_view meaning_of_xid(std::uint32_t number) {
    constexpr std::array<std::pair<std::uint32_t, std::string_view>, 12> meanings{
        {{13, "graphics engine exception"},
         {31, "GPU memory page fault"},
         {43, "GPU stopped processing"},
         {48, "double-bit ECC error"},
         {63, "row remapping recorded"},
         {64, "row remapping failed"},
         {74, "NVLink error"},
         {79, "GPU has fallen off the bus"},
         {92, "many single-bit ECC errors"},
         {94, "contained memory error"},
         {95, "uncontained memory error"},
         {119, "GSP timeout"}}};
    const auto* const found =
        std::ranges::find(meanings, number, &std::pair<std::uint32_t, std::string_view>::first);
    return found == meanings.end() ? std::string_view() : found->second;
}

// One finding for each number.
void add_xids(const StepReport& report, ReportFindings& findings) {
    struct Seen {
        double time = 0;  // of the first, since 1970
        double after = 0;
        GpuOnNode gpu;
        std::size_t count = 0;
    };
    std::map<std::uint32_t, Seen> by_number;
    for (const GpuOnNode& each : gpus_of(report)) {
        for (const XidEvent& xid : each.gpu->xids) {
            Seen& seen = by_number[xid.number];
            const double time = each.node->began + xid.time;
            const std::size_t count = seen.count + 1;
            if (seen.count == 0 || time < seen.time) seen = {time, xid.time, each, 0};
            seen.count = count;
        }
    }
    for (const auto& [number, seen] : by_number) {
        const std::string_view meaning = meaning_of_xid(number);
        findings.push_back(
            {Weight::xid,
             formatted("Xid {}{} on {} after {}{}", number,
                       meaning.empty() ? "" : formatted(" ({})", meaning), name_of(seen.gpu),
                       time_text(seen.after),
                       seen.count > 1 ? formatted(", seen {} times", seen.count) : "")});
    }
}

double end_of(const RankOnNode& each) {
    return each.node->began + each.rank->ended.value_or(each.node->seconds);
}

// A step that is cancelled as a whole has no rank that failed first. Nor has one that Slurm ended
// because it lost a node, whose last write was before that.
bool were_all_killed(const std::vector<RankOnNode>& ranks) {
    double first_kill = std::numeric_limits<double>::infinity();
    for (const RankOnNode& each : ranks) {
        if (each.rank->status == SIGKILL) first_kill = std::min(first_kill, end_of(each));
    }
    return std::ranges::all_of(ranks, [&](const RankOnNode& each) {
        return each.rank->status == SIGKILL || (!each.rank->ended && end_of(each) < first_kill);
    });
}

// Nodes whose sampler was killed with everything else there, while others saw the step's end.
void add_lost_nodes(const StepReport& report, ReportFindings& findings) {
    constexpr double two_writes = 120;  // seconds; a node that still runs has written since
    double end = 0;
    for (const NodeReport& node : report.reports) {
        if (node.is_complete) end = std::max(end, node.began + node.seconds);
    }
    std::vector<std::string> lost;
    double last = 0;
    for (const NodeReport& node : report.reports) {
        const double written = node.began + node.seconds;
        if (node.is_complete || written > end - two_writes) continue;
        lost.push_back(node.node);
        last = std::max(last, written);
    }
    if (lost.empty()) return;
    const bool is_one = lost.size() == 1;
    findings.push_back(
        {Weight::lost_node,
         formatted("{} wrote nothing in the last {}, and may have been lost",
                   is_one ? lost.front() : counted(lost.size(), "node"), time_text(end - last))});
}

void add_first_failure(const StepReport& report, ReportFindings& findings) {
    std::vector<RankOnNode> failed = ranks_of(report);
    if (were_all_killed(failed)) return;
    std::erase_if(failed, [](const RankOnNode& each) {
        const RankReport& rank = *each.rank;
        return !rank.ended || rank.status.value_or(0) == 0 || was_asked_to_end(*rank.status);
    });
    if (failed.empty()) return;
    const RankOnNode first = *std::ranges::min_element(failed, {}, end_of);
    const auto in_its_task = std::ranges::count_if(
        first.node->ranks, [&](const RankReport& rank) { return rank.task == first.rank->task; });
    const std::string& memory = first.node->out_of_memory;
    // A task of several ranks is their launcher: its status is not the rank's.
    findings.push_back(
        {Weight::failed_rank,
         formatted("rank {} on {} failed first, after {}: {} {}{}{}", first.rank->rank,
                   first.node->node, time_text(*first.rank->ended),
                   in_its_task > 1 ? "its launcher" : "it", ending_text(*first.rank->status),
                   memory.empty() ? "" : ", ", memory)});
}

void add_slow_clocks(const StepReport& report, ReportFindings& findings) {
    struct Slow {
        std::vector<GpuOnNode> gpus;
        double largest_share = 0;
        bool is_power_cap = false;
    };
    std::map<std::string, Slow> by_reason;
    for (const GpuOnNode& each : gpus_of(report)) {
        for (const SlowClock& clock : each.gpu->slow_clocks) {
            const double share = share_of(clock, *each.node);
            if (share < (is_power_cap(clock) ? min_capped_share : min_slow_share)) continue;
            Slow& slow = by_reason[clock.reason];
            slow.gpus.push_back(each);
            slow.largest_share = std::max(slow.largest_share, share);
            slow.is_power_cap = is_power_cap(clock);
        }
    }
    const std::size_t all = gpus_of(report).size();
    for (const auto& [reason, slow] : by_reason) {
        const std::string which = slow.gpus.size() == all && all > 1 ? formatted("all {} GPUs", all)
                                                                     : first_and_others(slow.gpus);
        findings.push_back({slow.is_power_cap ? Weight::power_cap : Weight::throttled,
                            formatted("{}: {} slowed the clocks up to {:.0f}% of the time", which,
                                      reason, percent * slow.largest_share)});
    }
}

void add_narrow_pcie(const StepReport& report, ReportFindings& findings) {
    const auto narrow = gpus_where(report, is_narrow);
    if (narrow.empty()) return;
    const GpuReport& first = *narrow.front().gpu;
    findings.push_back({Weight::narrow_pcie,
                        formatted("{}: PCIe runs with {} of {} lanes", first_and_others(narrow),
                                  first.pcie_width, first.pcie_width_max)});
}

void add_unused_gpus(const StepReport& report, ReportFindings& findings) {
    const auto unused = gpus_where(report, [](const GpuReport& gpu) {
        return is_measured(gpu) && !gpu.lost && gpu.busy.quantile(1) == 0;
    });
    if (unused.empty()) return;
    const auto measured = gpus_where(report, is_measured);
    const std::string_view verb = has_ended(report) ? "never worked" : "did not work yet";
    findings.push_back(
        {Weight::unused_gpu, unused.size() == 1
                                 ? formatted("{} {}", name_of(unused.front()), verb)
                                 : formatted("{} of {} GPUs {}, such as {}", unused.size(),
                                             measured.size(), verb, name_of(unused.front()))});
}

void add_restarts(const StepReport& report, ReportFindings& findings) {
    std::vector<std::uint32_t> ranks;
    std::uint32_t most = 0;
    for (const RankOnNode& each : ranks_of(report)) {
        if (each.rank->restarts == 0) continue;
        ranks.push_back(each.rank->rank);
        most = std::max(most, each.rank->restarts);
    }
    if (ranks.empty()) return;
    findings.push_back({Weight::restarts, formatted("a launcher restarted {}, up to {}",
                                                    ranks_text(ranks), counted(most, "time"))});
}

void add_gaps(const StepReport& report, ReportFindings& findings) {
    if (report.reports.size() < report.nodes) {
        findings.push_back(
            {Weight::missing_report,
             formatted("no report from {} of {}, which are left out here",
                       report.nodes - report.reports.size(), counted(report.nodes, "node"))});
    }
    const auto unmeasured =
        gpus_where(report, [](const GpuReport& gpu) { return !is_measured(gpu); });
    if (unmeasured.empty()) return;
    findings.push_back(
        {Weight::unmeasured,
         formatted("{} of {} not measured: {}", unmeasured.size(),
                   counted(gpus_of(report).size(), "GPU"), first_and_others(unmeasured))});
}

}  // namespace

std::string hindrance_of(const NodeReport& node) {
    std::string_view reason;
    double share = 0;
    for (const GpuReport& gpu : node.gpus) {
        for (const SlowClock& clock : gpu.slow_clocks) {
            if (is_power_cap(clock) || share_of(clock, node) <= share) continue;
            reason = clock.reason;
            share = share_of(clock, node);
        }
    }
    if (share >= min_slow_share) {
        return formatted("{} slowed its clocks {:.0f}% of the time", reason, percent * share);
    }
    const auto narrow = std::ranges::find_if(node.gpus, is_narrow);
    if (narrow == node.gpus.end()) return "";
    return formatted("its PCIe runs with {} of {} lanes", narrow->pcie_width,
                     narrow->pcie_width_max);
}

ReportFindings find_faults(const StepReport& report) {
    ReportFindings findings;
    for (const auto add :
         {add_lost_gpus, add_xids, add_lost_nodes, add_first_failure, add_unused_gpus,
          add_slow_clocks, add_narrow_pcie, add_restarts, add_gaps}) {
        add(report, findings);
    }
    return findings;
}

}  // namespace distgpu
