#include "why/diagnosis.h"

#include "base/format.h"
#include "ranks_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

using Kind = Diagnosis::Kind;

// "rank 3 on node02", "ranks 4-7 on node02"; on many nodes "ranks 0-63".
std::string who(const std::vector<std::uint32_t>& ranks, const std::vector<std::string>& nodes) {
    constexpr std::size_t most_nodes = 4;
    std::string text = ranks_text(ranks);
    if (nodes.empty() || nodes.size() > most_nodes) return text;
    return formatted("{} on {}", text, join(nodes, ", "));
}

std::string verb(const std::vector<std::uint32_t>& ranks) {
    return ranks.size() == 1 ? "is" : "are";
}

class Judge {
  public:
    explicit Judge(Diagnosis& diagnosis) : to_(diagnosis) {}

    void judge(const std::vector<NodeLook>& looks) {
        tell_of_ended(looks);
        for (const RankGroup& group : to_.groups) {
            if (group.activity == Activity::stopped) tell_of_stopped(group);
        }
        for (const RankGroup& group : to_.groups) {
            if (group.activity == Activity::in_kernel) tell_of_kernel(group);
        }
        tell_of_the_rest();
    }

  private:
    void add(Kind kind, std::string text) {
        if (to_.findings.empty()) to_.kind = kind;
        to_.findings.push_back(std::move(text));
    }

    std::string unchanged() const { return formatted("unchanged for {:.1f} s", to_.seconds); }

    static std::string in_site(const RankGroup& group) {
        return group.site.text.empty() ? "" : ", in " + group.site.text;
    }

    // The nodes on which tasks of Slurm's have ended, or that have no process of the step's left.
    static std::vector<std::string> short_nodes(const std::vector<NodeLook>& looks) {
        std::vector<std::string> nodes;
        for (const NodeLook& look : looks) {
            std::set<std::uint32_t> there;
            for (const ProcessLook& process : look.processes) {
                if (process.task && is_there(process)) there.insert(*process.task);
            }
            if (look.processes.empty() || there.size() < look.tasks.size()) {
                nodes.push_back(look.node);
            }
        }
        return nodes;
    }

    void tell_of_ended(const std::vector<NodeLook>& looks) {
        const bool all_looked = to_.silent.empty() &&
                                std::none_of(looks.begin(), looks.end(), [](const NodeLook& look) {
                                    return look.times.empty();
                                });
        if (to_.missing.empty() || to_.groups.empty() || !all_looked) return;
        const std::size_t others = count_if([](const RankGroup&) { return true; });
        add(Kind::ended,
            formatted("{} {} ended, while {} still {}", who(to_.missing, short_nodes(looks)),
                      to_.missing.size() == 1 ? "has" : "have", counted(others, "rank"),
                      others == 1 ? "runs" : "run"));
    }

    void tell_of_stopped(const RankGroup& group) {
        add(Kind::stopped,
            formatted("{} {} stopped, by a signal such as SIGSTOP or by a debugger{}",
                      who(group.ranks, group.nodes), verb(group.ranks), in_site(group)));
    }

    void tell_of_kernel(const RankGroup& group) {
        const std::string channel =
            group.wait_channel.empty() ? "" : formatted(" ({})", group.wait_channel);
        add(Kind::in_kernel, formatted("{} {} in the kernel{}{}, {}", who(group.ranks, group.nodes),
                                       group.ranks.size() == 1 ? "waits" : "wait", channel,
                                       in_site(group), unchanged()));
    }

    static bool is_told(const RankGroup& group) {
        return group.activity == Activity::stopped || group.activity == Activity::in_kernel;
    }

    // Those that neither moved nor were told of, by call site.
    std::map<CallSite, std::vector<const RankGroup*>> sites() const {
        std::map<CallSite, std::vector<const RankGroup*>> all;
        for (const RankGroup& group : to_.groups) {
            if (!group.moved && !is_told(group)) all[group.site].push_back(&group);
        }
        return all;
    }

    static std::size_t size(const std::vector<const RankGroup*>& groups) {
        std::size_t ranks = 0;
        for (const RankGroup* group : groups) ranks += group->ranks.size();
        return ranks;
    }

    std::size_t count_if(bool (*is)(const RankGroup&)) const {
        std::size_t ranks = 0;
        for (const RankGroup& group : to_.groups) ranks += is(group) ? group.ranks.size() : 0;
        return ranks;
    }

    void tell_of_the_rest() {
        const std::size_t all = count_if([](const RankGroup&) { return true; });
        const std::size_t moved = count_if([](const RankGroup& group) { return group.moved; });
        const auto unmoved = sites();
        if (all == 0 || (unmoved.empty() && moved == 0)) return;
        // Of as many those that wait for the others.
        const auto weight = [](const auto& site) {
            return std::tuple(size(site.second), site.first.is_collective,
                              !site.first.text.empty());
        };
        const auto most = std::max_element(
            unmoved.begin(), unmoved.end(),
            [&](const auto& left, const auto& right) { return weight(left) < weight(right); });
        if (moved * 2 >= all || most == unmoved.end()) return tell_of_moving(all, moved);
        if (most->first.text.empty()) return tell_of_unknown(size(most->second));
        for (const RankGroup& group : to_.groups) {
            if (!is_told(group) && group.site != most->first) {
                tell_of_odd(group, most->first, size(most->second));
            }
        }
        tell_of_one_site(most->first, all, moved);
    }

    void tell_of_moving(std::size_t all, std::size_t moved) {
        if (!to_.findings.empty()) return;
        add(Kind::moving, formatted("nothing hangs: {} of {} went on in {:.1f} s", moved,
                                    counted(all, "rank"), to_.seconds));
    }

    void tell_of_unknown(std::size_t all) {
        if (!to_.findings.empty()) return;
        add(Kind::unknown, formatted("nobody can tell where {} {}; the table shows what the kernel "
                                     "tells of them",
                                     counted(all, "rank"), all == 1 ? "is" : "are"));
    }

    void tell_of_one_site(const CallSite& site, std::size_t all, std::size_t moved) {
        if (!to_.findings.empty()) return;
        const bool all_seen = to_.missing.empty() && !to_.is_component;
        const std::string where =
            formatted("{}{} {} in {}", all == 1 ? "the only rank" : "all " + counted(all, "rank"),
                      all_seen ? "" : " that could be seen", all == 1 ? "is" : "are", site.text);
        if (moved > 0) {
            add(Kind::moving,
                formatted("{}, and {} of them went on in {:.1f} s; --repeat 60s tells "
                          "whether that lasts",
                          where, moved, to_.seconds));
        } else if (!all_seen) {
            add(Kind::unmoved,
                formatted("{}, {}; look at the nodes that could not be seen", where, unchanged()));
        } else if (site.is_collective) {
            add(Kind::unmoved, formatted("{}, {}: none is missing there, so look at the network "
                                         "between the nodes (distgpu check)",
                                         where, unchanged()));
        } else {
            add(Kind::unmoved,
                formatted("{}, {}; --repeat 60s tells whether that lasts", where, unchanged()));
        }
    }

    static std::string doing(const RankGroup& group, const std::string& unmoved) {
        const std::string activity(name_of(group.activity));
        return group.moved ? activity + ", and moves" : formatted("{}, {}", activity, unmoved);
    }

    void tell_of_odd(const RankGroup& group, const CallSite& most, std::size_t others) {
        const std::string them = who(group.ranks, group.nodes);
        const std::string rest = counted(others, "rank");
        if (group.site.is_collective && most.is_collective && !group.moved) {
            return add(Kind::other_collective,
                       formatted("{} {} in {}, but {} {} in {}: they wait for each other in "
                                 "different collectives",
                                 them, verb(group.ranks), group.site.text, rest,
                                 others == 1 ? "is" : "are", most.text));
        }
        const std::string worker =
            group.worker.empty() ? "" : formatted(", and waits for its worker {}", group.worker);
        const std::string where =
            group.site.text.empty() ? "where nobody can tell" : "in " + group.site.text;
        add(Kind::elsewhere, formatted("{} {} {}, {}{}; {} {} in {}", them, verb(group.ranks),
                                       where, doing(group, unchanged()), worker, rest,
                                       most.is_collective ? (others == 1 ? "waits" : "wait")
                                                          : (others == 1 ? "is" : "are"),
                                       most.text));
    }

    Diagnosis& to_;
};

}  // namespace

std::string_view name_of(Kind kind) {
    constexpr std::array<std::string_view, 8> names{
        "ended",     "stopped", "in_kernel", "other_collective",
        "elsewhere", "unmoved", "moving",    "unknown"};
    return names.at(static_cast<std::size_t>(kind));
}

namespace {

void add_details(const std::vector<RankLook>& seen, Diagnosis& diagnosis) {
    constexpr std::size_t most = 64;
    for (const RankGroup& group : diagnosis.groups) {
        for (const std::uint32_t number : group.ranks) {
            const auto rank = std::find_if(seen.begin(), seen.end(), [&](const RankLook& each) {
                return each.rank == number;
            });
            if (diagnosis.details.size() == most) return;
            diagnosis.details.push_back(details_of(*rank));
            if (&group != &diagnosis.groups.back()) ++diagnosis.odd;
        }
    }
}

}  // namespace

Diagnosis diagnose(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component) {
    const Ranks ranks = find_ranks(looks, tasks, is_component);
    Diagnosis diagnosis;
    diagnosis.groups = group_ranks(ranks.seen);
    diagnosis.missing = ranks.missing;
    diagnosis.expected = ranks.expected;
    diagnosis.is_component = is_component;
    diagnosis.silent = silent;
    diagnosis.nodes = static_cast<std::uint32_t>(looks.size() + silent.size());
    for (const NodeLook& look : looks) {
        if (!look.times.empty()) {
            diagnosis.seconds = std::max(diagnosis.seconds, look.times.back() - look.times.front());
        }
        if (!look.nccl.empty()) diagnosis.nccl = look.nccl;
        diagnosis.records.insert(diagnosis.records.end(), look.records.begin(), look.records.end());
        if (!look.problem.empty() && std::find(diagnosis.notes.begin(), diagnosis.notes.end(),
                                               look.problem) == diagnosis.notes.end()) {
            diagnosis.notes.push_back(look.problem);
        }
    }
    if (is_component) {
        diagnosis.notes.emplace_back(
            "this is one component of a heterogeneous step; look at the others too");
    }
    if (!ranks.missing.empty()) diagnosis.ended = ended_processes(looks);
    add_details(ranks.seen, diagnosis);
    Judge(diagnosis).judge(looks);
    return diagnosis;
}

}  // namespace distgpu
