#include "why/hang_detection.h"

#include "base/format.h"
#include "inspect/process_facts.h"
#include "inspect/step_processes.h"
#include "table.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

using Kind = Diagnosis::Kind;

// Whether every node sent a sample.
bool all_nodes_sampled(const std::vector<NodeSample>& samples, const Diagnosis& diagnosis) {
    return diagnosis.silent.empty() && std::ranges::none_of(samples, [](const NodeSample& sample) {
               return sample.times.empty();
           });
}

// "rank 3 on node02 is", "ranks 4-7 on node02 are"; on many nodes "ranks 0-63 are".
std::string ranks_and_verb(const std::vector<std::uint32_t>& ranks,
                           const std::vector<std::string>& nodes, std::string_view singular = "is",
                           std::string_view plural = "are") {
    return formatted("{} {}", ranks_on_nodes(ranks, nodes), ranks.size() == 1 ? singular : plural);
}

// "1 rank is", "3 ranks are".
std::string ranks_and_verb(std::size_t ranks, std::string_view singular = "is",
                           std::string_view plural = "are") {
    return formatted("{} {}", counted(ranks, "rank"), ranks == 1 ? singular : plural);
}

std::string in_site(const RankGroup& group) {
    return group.site.text.empty() ? "" : ", in " + group.site.text;
}

// The nodes on which a task has ended, or no process of the step is left.
std::vector<std::string> nodes_with_ended_tasks(const std::vector<NodeSample>& samples) {
    std::vector<std::string> nodes;
    for (const NodeSample& sample : samples) {
        std::set<std::uint32_t> alive;
        for (const ProcessSample& process : sample.processes) {
            if (process.task && is_alive(process)) alive.insert(*process.task);
        }
        if (sample.processes.empty() || alive.size() < sample.tasks.size())
            nodes.push_back(sample.node);
    }
    return nodes;
}

bool is_stopped_or_in_kernel(const RankGroup& group) {
    return group.activity == Activity::stopped || group.activity == Activity::in_kernel;
}

// Adds the findings, the most important first, to a diagnosis that is otherwise complete.
class FindingsBuilder {
  public:
    explicit FindingsBuilder(Diagnosis& diagnosis) : diagnosis_(diagnosis) {}

    void add_findings(const std::vector<NodeSample>& samples) {
        for (const RankGroup& group : diagnosis_.groups) all_ += group.ranks.size();
        if (all_ == 0) return;
        if (!diagnosis_.missing.empty() && all_nodes_sampled(samples, diagnosis_)) {
            add_finding(Kind::ended,
                        formatted("{} ended, while {}",
                                  ranks_and_verb(diagnosis_.missing,
                                                 nodes_with_ended_tasks(samples), "has", "have"),
                                  ranks_and_verb(all_, "still runs", "still run")));
        }
        for (const RankGroup& group : diagnosis_.groups) {
            if (group.activity != Activity::stopped) continue;
            add_finding(Kind::stopped,
                        formatted("{} stopped, by a signal such as SIGSTOP or by a debugger{}",
                                  ranks_and_verb(group.ranks, group.nodes), in_site(group)));
        }
        for (const RankGroup& group : diagnosis_.groups) {
            if (group.activity != Activity::in_kernel) continue;
            const std::string channel =
                group.wait_channel.empty() ? "" : formatted(" ({})", group.wait_channel);
            add_finding(Kind::in_kernel,
                        formatted("{} in the kernel{}{}, {}",
                                  ranks_and_verb(group.ranks, group.nodes, "waits", "wait"),
                                  channel, in_site(group), unchanged()));
        }
        add_site_findings();
    }

  private:
    // Findings about all ranks are added only if there is no other finding.
    void add_finding(Kind kind, std::string text) {
        if (kind >= Kind::unmoved && !diagnosis_.findings.empty()) return;
        if (diagnosis_.findings.empty()) diagnosis_.kind = kind;
        diagnosis_.findings.push_back(std::move(text));
    }

    std::string unchanged() const {
        return formatted("unchanged for {:.1f} s", diagnosis_.seconds);
    }

    // Compares the ranks that no finding names with the call site of most of them.
    void add_site_findings() {
        std::size_t moved = 0;
        std::map<CallSite, std::size_t> unmoved;  // number of ranks at each call site
        for (const RankGroup& group : diagnosis_.groups) {
            if (group.has_moved) {
                moved += group.ranks.size();
            } else if (!is_stopped_or_in_kernel(group)) {
                unmoved[group.site] += group.ranks.size();
            }
        }
        if (unmoved.empty() && moved == 0) return;
        // On a tie, the ranks that wait for the others count as the majority.
        const auto majority = std::ranges::max_element(unmoved, {}, [](const auto& site) {
            return std::tuple(site.second, site.first.is_collective, !site.first.text.empty());
        });
        if (moved * 2 >= all_ || majority == unmoved.end()) {
            return add_finding(Kind::moving,
                               formatted("nothing hangs: {} of {} made progress in {:.1f} s", moved,
                                         counted(all_, "rank"), diagnosis_.seconds));
        }
        const CallSite& site = majority->first;
        if (site.text.empty()) {
            return add_finding(Kind::unknown,
                               formatted("cannot tell where {}; the table shows what "
                                         "the kernel reports about them",
                                         ranks_and_verb(majority->second)));
        }
        for (const RankGroup& group : diagnosis_.groups) {
            if (is_stopped_or_in_kernel(group) || group.site == site) continue;
            add_outliers(group, site, majority->second);
        }
        add_common_site(site, moved);
    }

    // For ranks that are all at one call site.
    void add_common_site(const CallSite& site, std::size_t moved) {
        const bool all_seen = diagnosis_.missing.empty() && !diagnosis_.is_component;
        const std::string where =
            formatted("{}{} {} in {}", all_ == 1 ? "the only rank" : "all " + counted(all_, "rank"),
                      all_seen ? "" : " that could be seen", all_ == 1 ? "is" : "are", site.text);
        constexpr std::string_view lasts = "; run with --repeat 60s to see whether that lasts";
        if (moved > 0) {
            return add_finding(Kind::moving,
                               formatted("{}, and {} of them made progress in {:.1f} s{}", where,
                                         moved, diagnosis_.seconds, lasts));
        }
        std::string_view advice = lasts;
        if (!all_seen) {
            advice = "; look at the nodes that could not be seen";
        } else if (site.is_collective) {
            advice =
                ": none is missing there, so look at the network between the nodes (distgpu "
                "check)";
        }
        add_finding(Kind::unmoved, formatted("{}, {}{}", where, unchanged(), advice));
    }

    // For a group that is not at the call site of most ranks, `majority`.
    void add_outliers(const RankGroup& group, const CallSite& majority, std::size_t others) {
        const std::string ranks = ranks_and_verb(group.ranks, group.nodes);
        if (group.site.is_collective && majority.is_collective && !group.has_moved) {
            return add_finding(
                Kind::other_collective,
                formatted("{} in {}, but {} in {}: they wait for each other in different "
                          "collectives",
                          ranks, group.site.text, ranks_and_verb(others), majority.text));
        }
        const std::string worker =
            group.worker.empty() ? "" : formatted(", and waits for its worker {}", group.worker);
        add_finding(
            Kind::elsewhere,
            formatted("{} {}, {}, {}{}; {} in {}", ranks,
                      group.site.text.empty() ? "at an unknown place" : "in " + group.site.text,
                      name_of(group.activity), group.has_moved ? "and moves" : unchanged(), worker,
                      majority.is_collective ? ranks_and_verb(others, "waits", "wait")
                                             : ranks_and_verb(others),
                      majority.text));
    }

    Diagnosis& diagnosis_;
    std::size_t all_ = 0;  // number of sampled ranks
};

// The same process in another sample, not one that reuses its id; null if it is not there.
const ProcessSample* find_same_process(const NodeSample& sample, const ProcessSample& wanted) {
    const ProcessSample* const found = find_process(sample, wanted.pid);
    return found != nullptr && found->begin == wanted.begin ? found : nullptr;
}

Progress process_progress(const NodeSample& before, const NodeSample& now,
                          const ProcessSample& process) {
    const ProcessSample* const earlier = find_same_process(before, process);
    if (earlier == nullptr) return Progress::moving;
    const Stack* const was = last_stack(before, *earlier);
    const Stack* const is = last_stack(now, process);
    if (was != nullptr && is != nullptr) {
        return *was == *is ? Progress::stalled : Progress::moving;
    }
    return is_stopped_or_blocked(*earlier) && is_stopped_or_blocked(process) ? Progress::stalled
                                                                             : Progress::unclear;
}

// Includes the worker processes, which are in none of the diagnosis's groups.
bool has_any_changed_stack(const NodeSample& sample) {
    const Ranks ranks = find_ranks({&sample, 1}, 0);
    return std::ranges::any_of(ranks.seen, [](const RankSample& rank) {
        return has_changed_stack(*rank.process) ||
               std::ranges::any_of(rank.workers,
                                   [](const auto* worker) { return has_changed_stack(*worker); });
    });
}

std::set<pid_t> pids_below(const NodeSample& sample, pid_t top) {
    std::set<pid_t> below;
    for (const ProcessSample& process : sample.processes) {
        if (is_below(sample, process, top)) below.insert(process.pid);
    }
    return below;
}

bool stood_still(const NodeSample& before, const NodeSample& now, const ProcessSample& process) {
    const ProcessSample* const earlier = find_same_process(before, process);
    // A process in a debugger is being examined by its user.
    if (earlier == nullptr || process.moments.back().state == 't') return false;
    if (now.processes.size() >= max_processes) return false;
    const Work& was = earlier->work_after;
    const Work& is = process.work_before;
    const std::set<pid_t> below = pids_below(now, process.pid);
    // The reaped ticks show children that came and went, too.
    return was.main_switches == is.main_switches && was.main_ticks == is.main_ticks &&
           was.reaped_ticks == is.reaped_ticks && below == pids_below(before, process.pid) &&
           std::ranges::all_of(below, [&](pid_t pid) {
               const ProcessSample* const child = find_process(now, pid);
               const ProcessSample* const earlier_child = find_same_process(before, *child);
               return earlier_child != nullptr && earlier_child->work_after == child->work_before;
           });
}

}  // namespace

void add_findings(const std::vector<NodeSample>& samples, Diagnosis& diagnosis) {
    FindingsBuilder(diagnosis).add_findings(samples);
}

Progress progress_between(const NodeSample& before, const NodeSample& now) {
    const Ranks ranks = find_ranks({&now, 1}, 0);
    Progress all = ranks.seen.empty() ? Progress::unclear : Progress::stalled;
    for (const RankSample& rank : ranks.seen) {
        all = std::max(all, process_progress(before, now, *rank.process));
        for (const ProcessSample* const worker : rank.workers) {
            const bool is_moving = process_progress(before, now, *worker) == Progress::moving;
            if (is_moving) all = Progress::moving;
        }
    }
    return all;
}

Progress step_progress(const std::vector<NodeSample>& samples, const Diagnosis& diagnosis) {
    const auto& groups = diagnosis.groups;
    const auto is_moving = [&](const NodeSample& sample) {
        return exceeds_background_traffic(sample.traffic, sample.seconds(), diagnosis.expected) ||
               has_any_changed_stack(sample);
    };
    const auto is_known = [](const RankGroup& group) {
        return !group.stack.empty() || is_stopped_or_in_kernel(group);
    };
    if (std::ranges::any_of(samples, is_moving) ||
        std::ranges::any_of(groups, &RankGroup::has_moved)) {
        return Progress::moving;
    }
    const bool all_known = !groups.empty() && std::ranges::all_of(groups, is_known);
    return all_known && all_nodes_sampled(samples, diagnosis) ? Progress::stalled
                                                              : Progress::unclear;
}

void exclude_sampling_cost(std::vector<NodeSample>& baseline, const NodeSample& sample) {
    const auto found = std::ranges::find(baseline, sample.node, &NodeSample::node);
    if (found == baseline.end()) return;
    for (ProcessSample& process : found->processes) {
        const ProcessSample* const now = find_same_process(sample, process);
        if (now == nullptr) continue;
        for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::switches,
                                 &Work::ticks, &Work::reaped_ticks}) {
            process.work_after.*count += now->work_after.*count - now->work_before.*count;
        }
    }
}

bool proves_hang(const std::vector<NodeSample>& baseline, const std::vector<NodeSample>& now) {
    const Ranks ranks = find_ranks(now, 0);
    bool hangs = false;
    for (const RankSample& rank : ranks.seen) {
        const Stack* const is = last_stack(*rank.node, *rank.process);
        if (is != nullptr && waits_for_ranks(*is)) continue;
        const auto before = std::ranges::find(baseline, rank.node->node, &NodeSample::node);
        if (before == baseline.end() || !stood_still(*before, *rank.node, *rank.process))
            return false;
        const Stack* const was = last_stack(*before, *find_same_process(*before, *rank.process));
        if (is == nullptr || was == nullptr || may_wait(*is)) continue;
        if (*is != *was) return false;
        hangs = true;
    }
    return hangs;
}

}  // namespace distgpu
