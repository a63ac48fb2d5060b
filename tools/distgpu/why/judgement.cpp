#include "why/judgement.h"

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

bool all_looked(const std::vector<NodeLook>& looks, const Diagnosis& diagnosis) {
    return diagnosis.silent.empty() &&
           std::ranges::none_of(looks, [](const NodeLook& look) { return look.times.empty(); });
}

// "rank 3 on node02 is", "ranks 4-7 on node02 are"; on many nodes "ranks 0-63 are".
std::string they(const std::vector<std::uint32_t>& ranks, const std::vector<std::string>& nodes,
                 std::string_view of_one = "is", std::string_view of_several = "are") {
    return formatted("{} {}", ranks_on(ranks, nodes), ranks.size() == 1 ? of_one : of_several);
}

// "1 rank is", "3 ranks are".
std::string they(std::size_t ranks, std::string_view of_one = "is",
                 std::string_view of_several = "are") {
    return formatted("{} {}", counted(ranks, "rank"), ranks == 1 ? of_one : of_several);
}

std::string in_site(const RankGroup& group) {
    return group.site.text.empty() ? "" : ", in " + group.site.text;
}

// The nodes on which tasks of Slurm's have ended, or that have no process of the step's left.
std::vector<std::string> short_nodes(const std::vector<NodeLook>& looks) {
    std::vector<std::string> nodes;
    for (const NodeLook& look : looks) {
        std::set<std::uint32_t> there;
        for (const ProcessLook& process : look.processes) {
            if (process.task && is_there(process)) there.insert(*process.task);
        }
        if (look.processes.empty() || there.size() < look.tasks.size()) nodes.push_back(look.node);
    }
    return nodes;
}

bool is_stopped_or_in_kernel(const RankGroup& group) {
    return group.activity == Activity::stopped || group.activity == Activity::in_kernel;
}

// Adds the findings to a diagnosis whose facts are complete, the most important first.
class Judge {
  public:
    explicit Judge(Diagnosis& diagnosis) : to_(diagnosis) {}

    void judge(const std::vector<NodeLook>& looks) {
        for (const RankGroup& group : to_.groups) all_ += group.ranks.size();
        if (all_ == 0) return;
        if (!to_.missing.empty() && all_looked(looks, to_)) {
            add(Kind::ended, formatted("{} ended, while {}",
                                       they(to_.missing, short_nodes(looks), "has", "have"),
                                       they(all_, "still runs", "still run")));
        }
        for (const RankGroup& group : to_.groups) {
            if (group.activity != Activity::stopped) continue;
            add(Kind::stopped,
                formatted("{} stopped, by a signal such as SIGSTOP or by a debugger{}",
                          they(group.ranks, group.nodes), in_site(group)));
        }
        for (const RankGroup& group : to_.groups) {
            if (group.activity != Activity::in_kernel) continue;
            const std::string channel =
                group.wait_channel.empty() ? "" : formatted(" ({})", group.wait_channel);
            add(Kind::in_kernel, formatted("{} in the kernel{}{}, {}",
                                           they(group.ranks, group.nodes, "waits", "wait"), channel,
                                           in_site(group), unchanged()));
        }
        judge_sites();
    }

  private:
    // What is said of all ranks is said where there is nothing else to be said.
    void add(Kind kind, std::string text) {
        if (kind >= Kind::unmoved && !to_.findings.empty()) return;
        if (to_.findings.empty()) to_.kind = kind;
        to_.findings.push_back(std::move(text));
    }

    std::string unchanged() const { return formatted("unchanged for {:.1f} s", to_.seconds); }

    // Compares the ranks that no finding names with the place where most of them are.
    void judge_sites() {
        std::size_t moved = 0;
        std::map<CallSite, std::size_t> unmoved;  // how many are there
        for (const RankGroup& group : to_.groups) {
            if (group.moved) {
                moved += group.ranks.size();
            } else if (!is_stopped_or_in_kernel(group)) {
                unmoved[group.site] += group.ranks.size();
            }
        }
        if (unmoved.empty() && moved == 0) return;
        // Of as many those that wait for the others.
        const auto most = std::ranges::max_element(unmoved, {}, [](const auto& site) {
            return std::tuple(site.second, site.first.is_collective, !site.first.text.empty());
        });
        if (moved * 2 >= all_ || most == unmoved.end()) {
            return add(Kind::moving, formatted("nothing hangs: {} of {} went on in {:.1f} s", moved,
                                               counted(all_, "rank"), to_.seconds));
        }
        const CallSite& site = most->first;
        if (site.text.empty()) {
            return add(Kind::unknown, formatted("nobody can tell where {}; the table shows what "
                                                "the kernel tells of them",
                                                they(most->second)));
        }
        for (const RankGroup& group : to_.groups) {
            if (is_stopped_or_in_kernel(group) || group.site == site) continue;
            add_elsewhere(group, site, most->second);
        }
        add_one_site(site, moved);
    }

    void add_one_site(const CallSite& site, std::size_t moved) {
        const bool all_seen = to_.missing.empty() && !to_.is_component;
        const std::string where =
            formatted("{}{} {} in {}", all_ == 1 ? "the only rank" : "all " + counted(all_, "rank"),
                      all_seen ? "" : " that could be seen", all_ == 1 ? "is" : "are", site.text);
        constexpr std::string_view lasts = "; --repeat 60s tells whether that lasts";
        if (moved > 0) {
            return add(Kind::moving, formatted("{}, and {} of them went on in {:.1f} s{}", where,
                                               moved, to_.seconds, lasts));
        }
        std::string_view advice = lasts;
        if (!all_seen) {
            advice = "; look at the nodes that could not be seen";
        } else if (site.is_collective) {
            advice =
                ": none is missing there, so look at the network between the nodes (distgpu "
                "check)";
        }
        add(Kind::unmoved, formatted("{}, {}{}", where, unchanged(), advice));
    }

    void add_elsewhere(const RankGroup& group, const CallSite& most, std::size_t others) {
        const std::string ranks = they(group.ranks, group.nodes);
        if (group.site.is_collective && most.is_collective && !group.moved) {
            return add(Kind::other_collective,
                       formatted("{} in {}, but {} in {}: they wait for each other in different "
                                 "collectives",
                                 ranks, group.site.text, they(others), most.text));
        }
        const std::string worker =
            group.worker.empty() ? "" : formatted(", and waits for its worker {}", group.worker);
        add(Kind::elsewhere,
            formatted("{} {}, {}, {}{}; {} in {}", ranks,
                      group.site.text.empty() ? "where nobody can tell" : "in " + group.site.text,
                      name_of(group.activity), group.moved ? "and moves" : unchanged(), worker,
                      most.is_collective ? they(others, "waits", "wait") : they(others),
                      most.text));
    }

    Diagnosis& to_;
    std::size_t all_ = 0;  // ranks that were seen
};

// The same process, and not another one with its number. Null: it is not there.
const ProcessLook* find_in(const NodeLook& look, const ProcessLook& wanted) {
    const ProcessLook* const found = find_process(look, wanted.pid);
    return found != nullptr && found->begin == wanted.begin ? found : nullptr;
}

Stillness compare_process(const NodeLook& before, const NodeLook& now, const ProcessLook& process) {
    const ProcessLook* const earlier = find_in(before, process);
    if (earlier == nullptr) return Stillness::moves;
    const Stack* const was = last_stack(before, *earlier);
    const Stack* const is = last_stack(now, process);
    if (was != nullptr && is != nullptr) {
        return *was == *is ? Stillness::still : Stillness::moves;
    }
    return stands(*earlier) && stands(process) ? Stillness::still : Stillness::unclear;
}

// Also of the worker processes, which are none of the diagnosis's groups.
bool any_changed(const NodeLook& look) {
    const Ranks ranks = find_ranks({&look, 1}, 0);
    return std::ranges::any_of(ranks.seen, [](const RankLook& rank) {
        return changed_stack(*rank.process) ||
               std::ranges::any_of(rank.workers,
                                   [](const auto* worker) { return changed_stack(*worker); });
    });
}

std::set<pid_t> pids_below(const NodeLook& look, pid_t top) {
    std::set<pid_t> below;
    for (const ProcessLook& process : look.processes) {
        if (is_below(look, process, top)) below.insert(process.pid);
    }
    return below;
}

bool stood_still(const NodeLook& before, const NodeLook& now, const ProcessLook& process) {
    const ProcessLook* const earlier = find_in(before, process);
    // Who holds a process in a debugger is looking at it.
    if (earlier == nullptr || process.moments.back().state == 't') return false;
    if (now.processes.size() >= most_processes) return false;
    const Work& was = earlier->work_after;
    const Work& is = process.work_before;
    const std::set<pid_t> below = pids_below(now, process.pid);
    // Also children that came and went, whose CPU the process has been told of.
    return was.main_switches == is.main_switches && was.main_ticks == is.main_ticks &&
           was.reaped_ticks == is.reaped_ticks && below == pids_below(before, process.pid) &&
           std::ranges::all_of(below, [&](pid_t pid) {
               const ProcessLook* const child = find_process(now, pid);
               const ProcessLook* const child_then = find_in(before, *child);
               return child_then != nullptr && child_then->work_after == child->work_before;
           });
}

}  // namespace

void add_findings(const std::vector<NodeLook>& looks, Diagnosis& diagnosis) {
    Judge(diagnosis).judge(looks);
}

Stillness compare(const NodeLook& before, const NodeLook& now) {
    const Ranks ranks = find_ranks({&now, 1}, 0);
    Stillness all = ranks.seen.empty() ? Stillness::unclear : Stillness::still;
    for (const RankLook& rank : ranks.seen) {
        all = std::max(all, compare_process(before, now, *rank.process));
        for (const ProcessLook* const worker : rank.workers) {
            const bool moves = compare_process(before, now, *worker) == Stillness::moves;
            if (moves) all = Stillness::moves;
        }
    }
    return all;
}

Stillness judge(const std::vector<NodeLook>& looks, const Diagnosis& diagnosis) {
    const auto& groups = diagnosis.groups;
    const auto moves = [&](const NodeLook& look) {
        return is_at_work(look.traffic, look.seconds(), diagnosis.expected) || any_changed(look);
    };
    const auto is_known = [](const RankGroup& group) {
        return !group.stack.empty() || is_stopped_or_in_kernel(group);
    };
    if (std::ranges::any_of(looks, moves) || std::ranges::any_of(groups, &RankGroup::moved)) {
        return Stillness::moves;
    }
    const bool all_known = !groups.empty() && std::ranges::all_of(groups, is_known);
    return all_known && all_looked(looks, diagnosis) ? Stillness::still : Stillness::unclear;
}

void discount(std::vector<NodeLook>& begin, const NodeLook& look) {
    const auto found = std::ranges::find(begin, look.node, &NodeLook::node);
    if (found == begin.end()) return;
    for (ProcessLook& process : found->processes) {
        const ProcessLook* const now = find_in(look, process);
        if (now == nullptr) continue;
        for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::switches,
                                 &Work::ticks, &Work::reaped_ticks}) {
            process.work_after.*count += now->work_after.*count - now->work_before.*count;
        }
    }
}

bool proves_hang(const std::vector<NodeLook>& begin, const std::vector<NodeLook>& end) {
    const Ranks ranks = find_ranks(end, 0);
    bool hangs = false;
    for (const RankLook& rank : ranks.seen) {
        const Stack* const is = last_stack(*rank.node, *rank.process);
        if (is != nullptr && waits_for_ranks(*is)) continue;
        const auto before = std::ranges::find(begin, rank.node->node, &NodeLook::node);
        if (before == begin.end() || !stood_still(*before, *rank.node, *rank.process)) return false;
        const Stack* const was = last_stack(*before, *find_in(*before, *rank.process));
        if (is == nullptr || was == nullptr || may_wait(*is)) continue;
        if (*is != *was) return false;
        hangs = true;
    }
    return hangs;
}

}  // namespace distgpu
