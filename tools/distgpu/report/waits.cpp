// Finds what GPUs wait for. Utilization is the time in which a kernel ran, and NCCL's kernels run
// while they wait: a GPU that is less busy than the others waits for something outside of it.
#include "base/format.h"
#include "report/findings.h"
#include "report/summary.h"
#include "table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace distgpu {
namespace {

constexpr double percent = 100;

// How much busier or idler than the others, in percent, is no coincidence.
constexpr double odd = 15;

// Percent of each GPU at this time (seconds since 1970), of those that were measured then.
std::vector<std::uint32_t> busy_at(double time, const std::vector<GpuOnNode>& gpus) {
    std::vector<std::uint32_t> values;
    for (const GpuOnNode& each : gpus) {
        const double at = (time - each.node->began) / each.node->interval;
        if (!(at >= 0) || at >= static_cast<double>(each.gpu->busy_series.size())) continue;
        const auto value = each.gpu->busy_series[static_cast<std::size_t>(at)];
        if (value) values.push_back(*value);
    }
    return values;
}

// CPUs that each rank's own process uses at this time, or waits for.
std::vector<double> cpu_at(double time, std::span<const RankOnNode> ranks) {
    std::vector<double> values;
    for (const RankOnNode& each : ranks) {
        const double at = (time - each.node->began) / each.node->interval;
        if (!(at >= 0) || at >= static_cast<double>(each.rank->cpu_series.size())) continue;
        const auto i = static_cast<std::size_t>(at);
        const auto& waits = each.rank->cpu_wait_series;
        values.push_back(each.rank->cpu_series[i] + (i < waits.size() ? waits[i] : 0));
    }
    return values;
}

// Rank 0 evaluates or saves something while the others wait. Where they wait in a kernel of NCCL,
// their GPUs look busy.
class WaitForRank0 {
  public:
    explicit WaitForRank0(const std::vector<RankOnNode>& ranks) : ranks_(ranks) {
        for (const RankOnNode& each : ranks) {
            const auto gpus = gpus_of(each);
            auto& side = each.rank->rank == 0 ? own_gpus_ : other_gpus_;
            side.insert(side.end(), gpus.begin(), gpus.end());
            if (each.rank->rank == 0) continue;
            start_ = std::max(start_, each.node->began + each.rank->first_gpu.value_or(0));
        }
    }

    // Of the time since all GPUs had worked.
    double seconds() const {
        const RankOnNode& first = ranks_.front();
        const NodeReport& node = *first.node;
        double seconds = 0;
        for (std::size_t i = 0; i < first.rank->cpu_series.size(); ++i) {
            const double begin = node.began + static_cast<double>(i) * node.interval;
            if (begin >= start_ && is_waited_for(begin + node.interval / 2))
                seconds += node.interval;
        }
        return seconds;
    }

  private:
    bool is_waited_for(double time) const {
        constexpr std::uint32_t idle = 10;     // percent; the driver's own work is below
        constexpr std::uint32_t working = 50;  // percent
        constexpr std::uint32_t in_nccl = 95;  // percent
        constexpr double one_thread = 0.8;     // cores: Python saves and evaluates on one
        const auto others = busy_at(time, other_gpus_);
        if (others.empty()) return false;
        const auto own = busy_at(time, own_gpus_);
        const auto cpu = cpu_at(time, std::span(ranks_).first(1));
        const bool uses_cpu = !cpu.empty() && cpu.front() >= one_thread;
        if (std::ranges::min(others) >= in_nccl) {
            // One that never works is no part of the training.
            return uses_cpu && ranks_.front().rank->first_gpu && !own.empty() &&
                   std::ranges::max(own) < idle;
        }
        if (std::ranges::max(others) >= idle) return false;
        if (!own.empty() && std::ranges::max(own) >= working) return true;
        const auto others_cpu = cpu_at(time, std::span(ranks_).subspan(1));
        // While all compute on their CPUs, nobody waits for rank 0.
        return uses_cpu && !others_cpu.empty() && cpu.front() >= 2 * median_of(others_cpu);
    }

    const std::vector<RankOnNode>& ranks_;
    std::vector<GpuOnNode> own_gpus_;
    std::vector<GpuOnNode> other_gpus_;
    double start_ = 0;
};

// Returns whether they wait.
bool add_wait_for_rank0(const StepReport& report, ReportFindings& findings) {
    constexpr double min_share = 0.05;  // less is the price of any checkpoint
    const auto ranks = ranks_of(report);
    if (ranks.size() < 2 || ranks.front().rank->rank != 0) return false;
    const double seconds = WaitForRank0(ranks).seconds();
    const double all = seconds_of(report);
    if (seconds == 0 || seconds < min_share * all) return false;
    findings.push_back(
        {Weight::rank0,
         formatted("for {}, {:.0f}% of the time, only rank 0 works, as in evaluation "
                   "or checkpoints: the GPUs of {} wait",
                   time_text(seconds), percent * seconds / all,
                   counted(ranks.size() - 1, "other rank"))});
    return true;
}

struct RankBusy {
    RankOnNode rank;
    double busy = 0;
};

// Those that are not as busy as the rest, which is all alike.
std::vector<RankBusy> odd_ones(const std::vector<RankBusy>& ranks) {
    constexpr double alike = 10;         // percent
    constexpr std::size_t max_part = 3;  // a third at most, or it is not clear who is odd
    std::vector<double> values(ranks.size());
    std::ranges::transform(ranks, values.begin(), &RankBusy::busy);
    const double middle = values.empty() ? 0 : median_of(values);
    std::vector<RankBusy> found;
    for (const RankBusy& each : ranks) {
        const double distance = std::abs(each.busy - middle);
        if (distance >= odd) {
            found.push_back(each);
        } else if (distance > alike) {
            return {};
        }
    }
    const bool is_higher = !found.empty() && found.front().busy > middle;
    const bool is_one_side = std::ranges::all_of(
        found, [&](const RankBusy& each) { return (each.busy > middle) == is_higher; });
    return is_one_side && max_part * found.size() <= ranks.size() ? found : std::vector<RankBusy>{};
}

double mean_of(const std::vector<RankBusy>& ranks) {
    const double sum =
        std::accumulate(ranks.begin(), ranks.end(), 0.0,
                        [](double before, const RankBusy& each) { return before + each.busy; });
    return sum / static_cast<double>(ranks.size());
}

// The node of which these are all ranks; nullptr if they are not.
const NodeReport* node_of(const std::vector<RankBusy>& ranks) {
    const NodeReport* node = ranks.front().rank.node;
    const bool is_one =
        std::ranges::all_of(ranks, [&](const RankBusy& each) { return each.rank.node == node; });
    return is_one && ranks.size() == node->ranks.size() ? node : nullptr;
}

std::vector<RankBusy> measured_ranks(const StepReport& report) {
    std::vector<RankBusy> ranks;
    for (const RankOnNode& each : ranks_of(report)) {
        const auto busy = mean_busy(each);
        // One that never worked is another finding.
        if (busy && *busy > 0) ranks.push_back({each, *busy});
    }
    return ranks;
}

std::string odd_node_text(const NodeReport& node, double busy, double others) {
    std::string text = formatted("GPUs of {} {} busy, the others {}", node.node, busy_text(busy),
                                 busy_text(others));
    const std::string hindrance = hindrance_of(node);
    if (!hindrance.empty()) return text + ": " + hindrance;
    return text + (busy > others
                       ? formatted(": they wait for {}", node.node)
                       : formatted(": {} waits for something outside its GPUs", node.node));
}

// Of two nodes, the one that is known to be slower is odd.
const NodeReport* hindered_of_two(const StepReport& report) {
    if (report.reports.size() != 2) return nullptr;
    const bool is_first = !hindrance_of(report.reports[0]).empty();
    const bool is_second = !hindrance_of(report.reports[1]).empty();
    if (is_first == is_second) return nullptr;
    return &report.reports[is_first ? 0 : 1];
}

void add_odd_ones(const StepReport& report, const std::set<std::uint32_t>& explained,
                  ReportFindings& findings) {
    const auto ranks = measured_ranks(report);
    auto found = odd_ones(ranks);
    if (const NodeReport* node = hindered_of_two(report); found.empty() && node != nullptr) {
        std::ranges::copy_if(ranks, std::back_inserter(found),
                             [&](const RankBusy& each) { return each.rank.node == node; });
    }
    std::vector<RankBusy> others;
    std::ranges::copy_if(ranks, std::back_inserter(others), [&](const RankBusy& each) {
        return std::ranges::none_of(
            found, [&](const RankBusy& one) { return one.rank.rank == each.rank.rank; });
    });
    const bool is_explained = std::ranges::all_of(
        found, [&](const RankBusy& each) { return explained.contains(each.rank.rank->rank); });
    if (is_explained || others.empty()) return;
    const double busy = mean_of(found);
    const double others_busy = mean_of(others);
    if (std::abs(busy - others_busy) < odd) return;
    if (const NodeReport* node = node_of(found); node != nullptr && report.reports.size() > 1) {
        findings.push_back({Weight::odd_node, odd_node_text(*node, busy, others_busy)});
        return;
    }
    std::vector<std::uint32_t> numbers;
    std::set<std::string> nodes;
    for (const RankBusy& each : found) {
        numbers.push_back(each.rank.rank->rank);
        nodes.insert(each.rank.node->node);
    }
    findings.push_back(
        {Weight::odd_ranks, formatted("GPUs of {} {} busy, the others {}",
                                      ranks_on_nodes(numbers, {nodes.begin(), nodes.end()}),
                                      busy_text(busy), busy_text(others_busy))});
}

void add_start_up(const StepReport& report, ReportFindings& findings) {
    constexpr double min_share = 0.25;  // it is what a short step costs
    constexpr double min_seconds = 30;  // importing torch from a shared file system
    std::vector<double> starts;
    for (const RankOnNode& each : ranks_of(report)) {
        if (each.rank->first_gpu) starts.push_back(*each.rank->first_gpu);
    }
    if (starts.empty()) return;
    const double start = median_of(starts);
    const double share = start / std::max(seconds_of(report), 1.0);
    if (start < min_seconds || share < min_share) return;
    findings.push_back(
        {Weight::start_up, formatted("the GPUs first worked after {}, {:.0f}% of the "
                                     "time",
                                     time_text(start), percent * share)});
}

}  // namespace

ReportFindings find_waits(const StepReport& report) {
    CpuBound bound = find_cpu_bound(report);
    ReportFindings findings = std::move(bound.findings);
    if (add_wait_for_rank0(report, findings)) bound.ranks.insert(0);
    add_odd_ones(report, bound.ranks, findings);
    add_start_up(report, findings);
    return findings;
}

}  // namespace distgpu
