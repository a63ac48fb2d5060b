// Finds ranks whose GPUs wait because their CPUs are all in use: mostly by data loaders, which are
// processes below the rank, or by the threads of an input pipeline. Where other processes use these
// CPUs, too, they wait for them.
#include "base/format.h"
#include "report/findings.h"
#include "report/summary.h"
#include "table.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace distgpu {
namespace {

// Above that, waiting for data costs less than what is gained by looking for it.
constexpr double busy_enough = 90;

// The CPUs are all in use. The rest is the scheduler's, and the intervals' beginnings and ends.
constexpr double full_share = 0.9;

// The data loaders take most of these CPUs, not the program itself.
constexpr double loaders_share = 0.5;

// A thread that waits for a GPU takes a whole CPU, and so do the ones of NCCL: a rank with fewer
// CPUs can use them all without a pipeline.
constexpr double min_own_cpus = 4;

// Fewer intervals show a phase, such as the filling of the first buffers.
constexpr std::size_t min_intervals = 4;

double value_at(const std::vector<double>& series, std::size_t i) {
    return i < series.size() ? series[i] : 0;
}

// Ranks that share their CPUs.
struct CpuSharers {
    const NodeReport* node = nullptr;
    std::vector<const RankReport*> ranks;
};

// CPUs in an interval, by data loaders and by the ranks themselves: in use, and with what waited
// for one.
struct CpuInterval {
    double loaders = 0;
    double own = 0;
    double wanted_by_loaders = 0;
    double wanted = 0;
};

// Of each interval that began after one of their GPUs worked first.
struct CpuUse {
    double cpus = 0;
    std::vector<CpuInterval> intervals{};
};

CpuUse use_of(const CpuSharers& sharers) {
    CpuUse use;
    double start = sharers.node->seconds;
    std::size_t intervals = 0;
    for (const RankReport* rank : sharers.ranks) {
        use.cpus = std::max(use.cpus, static_cast<double>(rank->cpus));
        start = std::min(start, rank->first_gpu.value_or(0));
        intervals = std::max(intervals, rank->cpu_series.size());
    }
    for (std::size_t i = 0; i < intervals; ++i) {
        if (static_cast<double>(i) * sharers.node->interval < start) continue;
        CpuInterval& sum = use.intervals.emplace_back();
        for (const RankReport* rank : sharers.ranks) {
            const double loaders = value_at(rank->worker_cpu_series, i);
            const double own = value_at(rank->cpu_series, i);
            const double wanted = loaders + value_at(rank->worker_cpu_wait_series, i);
            sum.loaders += loaders;
            sum.own += own;
            sum.wanted_by_loaders += wanted;
            sum.wanted += wanted + own + value_at(rank->cpu_wait_series, i);
        }
    }
    return use;
}

// The processes of a launcher share its CPUs, unless they were bound: then together they can use
// more than each of them has.
std::vector<CpuSharers> sharers_on(const NodeReport& node) {
    constexpr double more_than_all = 1.05;
    std::map<std::uint32_t, CpuSharers> by_task;
    for (const RankReport& rank : node.ranks) {
        by_task[rank.task].node = &node;
        by_task[rank.task].ranks.push_back(&rank);
    }
    std::vector<CpuSharers> all;
    for (const auto& [task, sharers] : by_task) {
        const CpuUse use = use_of(sharers);
        const double all_cpus = more_than_all * use.cpus;
        const auto is_more = [&](const CpuInterval& each) {
            return each.loaders + each.own > all_cpus;
        };
        if (std::ranges::any_of(use.intervals, is_more)) {
            for (const RankReport* rank : sharers.ranks) all.push_back({&node, {rank}});
        } else {
            all.push_back(sharers);
        }
    }
    return all;
}

struct Bound {
    CpuSharers sharers;
    double busy = 0;  // percent, of their GPUs
    double used = 0;  // CPUs, while all are in use: by data loaders, or by the ranks themselves
    double cpus = 0;
    bool has_loaders = false;
    bool has_all = false;  // no other process uses these CPUs
};

std::optional<Bound> bound_of(const CpuSharers& sharers) {
    std::vector<GpuOnNode> gpus;
    for (const RankReport* rank : sharers.ranks) {
        const auto own = gpus_of(RankOnNode{sharers.node, rank});
        gpus.insert(gpus.end(), own.begin(), own.end());
    }
    const auto busy = mean_busy(gpus);
    if (!busy || *busy >= busy_enough) return std::nullopt;
    const CpuUse use = use_of(sharers);
    CpuInterval sum;
    std::size_t full = 0;
    for (const CpuInterval& each : use.intervals) {
        if (each.wanted < full_share * use.cpus) continue;
        sum.loaders += each.loaders;
        sum.own += each.own;
        sum.wanted_by_loaders += each.wanted_by_loaders;
        ++full;
    }
    if (use.cpus == 0 || full < min_intervals || 2 * full < use.intervals.size()) {
        return std::nullopt;
    }
    const auto count = static_cast<double>(full);
    const bool has_loaders = sum.wanted_by_loaders >= loaders_share * use.cpus * count;
    if (!has_loaders && use.cpus < min_own_cpus) return std::nullopt;
    const bool has_all = sum.loaders + sum.own >= full_share * use.cpus * count;
    const double used = has_loaders ? sum.loaders : sum.own;
    return Bound{sharers, *busy, used / count, use.cpus, has_loaders, has_all};
}

// One sentence for all of them. Precondition: there is one, and all are of one kind.
std::string text_of(const std::vector<Bound>& all) {
    std::vector<std::uint32_t> ranks;
    std::vector<std::string> nodes;
    double busy = 0;
    double used = 0;
    double cpus = 0;
    bool have_all = true;
    for (const Bound& each : all) {
        for (const RankReport* rank : each.sharers.ranks) ranks.push_back(rank->rank);
        const std::string& node = each.sharers.node->node;
        if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
        busy += each.busy;
        used += each.used;
        cpus += each.cpus;
        have_all = have_all && each.has_all;
    }
    std::ranges::sort(ranks);
    const auto count = static_cast<double>(all.size());
    const std::string_view who = all.front().has_loaders ? "data loaders" : "own threads";
    const std::string all_cpus =
        counted(static_cast<std::uint64_t>(std::lround(cpus / count)), "CPU");
    const std::string_view rest = have_all ? "" : ", and wait for what other processes use";
    if (ranks.size() == 1) {
        return formatted("GPU of {} {} busy: its {} use {:.1f} of its {}{}",
                         ranks_on_nodes(ranks, nodes), busy_text(busy), who, used, all_cpus, rest);
    }
    return formatted("GPUs of {} {} busy: their {} use {:.1f} of {} per {}{}",
                     ranks_on_nodes(ranks, nodes), busy_text(busy / count), who, used / count,
                     all_cpus, ranks.size() > all.size() ? "task" : "rank", rest);
}

}  // namespace

CpuBound find_cpu_bound(const StepReport& report) {
    CpuBound found;
    std::map<bool, std::vector<Bound>> by_kind;
    for (const NodeReport& node : report.reports) {
        for (const CpuSharers& sharers : sharers_on(node)) {
            const auto bound = bound_of(sharers);
            if (!bound) continue;
            by_kind[bound->has_loaders].push_back(*bound);
            for (const RankReport* rank : sharers.ranks) found.ranks.insert(rank->rank);
        }
    }
    for (const auto& [has_loaders, all] : by_kind) {
        found.findings.push_back({Weight::cpu_bound, text_of(all)});
    }
    return found;
}

}  // namespace distgpu
