#include "why/findings.h"

#include "base/format.h"
#include "table.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

using Kind = Diagnosis::Kind;
using Groups = std::vector<const RankGroup*>;

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

bool has_place(const RankGroup& group) {
    return !group.site.text.empty() || !group.wait_channel.empty() || !group.system_call.empty();
}

// Where ranks are whose stacks are unknown, as far as the kernel tells.
std::string place_text(const RankGroup& group) {
    if (!group.site.text.empty()) return "in " + group.site.text;
    if (!has_place(group)) return "at an unknown place";
    const std::string& where = group.system_call.empty() ? group.wait_channel : group.system_call;
    return formatted("in the kernel's {}", where);
}

// Two groups are at one place if their own code, or else the kernel, says so: in a loop
// the function counts, because a rank may be at any line of it.
std::string place_key(const RankGroup& group, bool by_function) {
    const std::string text = place_text(group);
    return by_function ? text.substr(0, text.rfind(':')) : text;
}

std::string lock_of(const RankGroup& group) {
    return group.lock.empty() ? "" : "; " + group.lock;
}

// The nodes on which a task has ended, or no process of the step is left.
std::vector<std::string> nodes_with_ended_tasks(const std::vector<NodeSample>& samples) {
    std::vector<std::string> nodes;
    for (const NodeSample& sample : samples) {
        if (ended_task_count(sample) > 0 || has_no_process(sample)) nodes.push_back(sample.node);
    }
    return nodes;
}

std::size_t count_ranks(const Groups& groups) {
    std::size_t count = 0;
    for (const RankGroup* group : groups) count += group->ranks.size();
    return count;
}

// The groups by place, and the place of most ranks; on a tie, of those that poll or are in machine
// code or a library, because they may wait.
struct Places {
    std::map<std::string, Groups> all;
    const Groups* largest = nullptr;

    explicit Places(const Groups& groups) {
        const bool by_function = std::ranges::any_of(groups, &RankGroup::is_in_loop);
        for (const RankGroup* group : groups) all[place_key(*group, by_function)].push_back(group);
        for (const auto& [place, members] : all) {
            const auto weight = [](const Groups& each) {
                return std::tuple(count_ranks(each), each.front()->is_polling,
                                  !each.front()->site.text.empty());
            };
            if (largest == nullptr || weight(members) > weight(*largest)) largest = &members;
        }
    }
};

class FindingsBuilder {
  public:
    FindingsBuilder(const std::vector<NodeSample>& samples, Diagnosis& diagnosis)
        : samples_(samples), diagnosis_(diagnosis) {
        for (const RankGroup& group : diagnosis.groups) {
            all_ += group.ranks.size();
            if (group.has_moved()) {
                moving_.push_back(&group);
            } else if (group.activity == Activity::stopped) {
                stopped_.push_back(&group);
            } else if (group.activity == Activity::in_kernel) {
                in_kernel_.push_back(&group);
            } else if (group.waits()) {
                waiting_.push_back(&group);
            } else if (group.progress == Progress::unknown) {
                unknown_.push_back(&group);
            } else {
                (group.is_polling ? polling_ : still_).push_back(&group);
            }
        }
    }

    void add_findings() {
        if (all_ == 0) return;
        add_ended();
        for (const RankGroup* group : stopped_) {
            accuse(Kind::stopped, *group,
                   formatted("{} stopped, by a signal such as SIGSTOP or by a debugger{}",
                             ranks_and_verb(group->ranks, group->nodes), in_site(*group)));
        }
        for (const RankGroup* group : in_kernel_) {
            const std::string channel =
                group->wait_channel.empty() ? "" : formatted(" ({})", group->wait_channel);
            accuse(Kind::in_kernel, *group,
                   formatted("{} in the kernel{}{}, {}",
                             ranks_and_verb(group->ranks, group->nodes, "waits", "wait"), channel,
                             in_site(*group), unchanged()));
        }
        add_shared_ranks();
        if (!moving_.empty()) return add_moving();
        if (unknown_.empty()) {
            add_hanging();
        } else {
            add_unknown();
        }
    }

  private:
    // Findings about all ranks are added only if there is no other finding.
    void add_finding(Kind kind, std::string text) {
        if (kind >= Kind::unmoved && !diagnosis_.findings.empty()) return;
        if (diagnosis_.findings.empty()) diagnosis_.kind = kind;
        diagnosis_.findings.push_back(std::move(text));
    }

    void accuse(Kind kind, const RankGroup& group, std::string text) {
        diagnosis_.accused.insert(diagnosis_.accused.end(), group.ranks.begin(), group.ranks.end());
        add_finding(kind, std::move(text));
    }

    std::string without_progress() const {
        return formatted("polling, without progress for {:.1f} s", diagnosis_.seconds);
    }

    std::string unchanged() const {
        return formatted("unchanged for {:.1f} s", diagnosis_.seconds);
    }

    // A rank of which no process was seen has ended if fewer tasks run than were started, or if a
    // process is left for which nobody waited.
    void add_ended() {
        const auto& missing = diagnosis_.missing;
        if (missing.empty() || !all_nodes_sampled(samples_, diagnosis_)) return;
        const std::vector<std::string> nodes = nodes_with_ended_tasks(samples_);
        if (nodes.empty() && diagnosis_.ended.empty()) {
            const std::uint64_t named = all_ + missing.size();
            const std::uint64_t more = std::max(diagnosis_.expected, named) - named;
            diagnosis_.notes.push_back(
                formatted("no process of {}{} was seen, although no task has ended",
                          ranks_on_nodes(missing, {}),
                          more > 0 ? formatted(" and {} more", more) : std::string()));
            return;
        }
        diagnosis_.accused.insert(diagnosis_.accused.end(), missing.begin(), missing.end());
        add_finding(Kind::ended,
                    formatted("{} ended, while {}", ranks_and_verb(missing, nodes, "has", "have"),
                              ranks_and_verb(all_, "still runs", "still run")));
    }

    void add_shared_ranks() {
        for (const SharedRank& shared : diagnosis_.shared) {
            add_finding(Kind::shared_rank,
                        formatted("tasks {} all have RANK={}, so they do not work together; the "
                                  "numbers below are the tasks' (SLURM_PROCID)",
                                  number_ranges(shared.tasks), shared.rank));
        }
    }

    void add_moving() {
        const std::size_t moved = count_ranks(moving_);
        std::string text = formatted("nothing hangs: {} of {} made progress in {:.1f} s", moved,
                                     counted(all_, "rank"), diagnosis_.seconds);
        // Who computes while the others wait.
        if (moved * 2 < all_ && moving_.size() == 1 && !waiting_.empty()) {
            const RankGroup& group = *moving_.front();
            text += formatted("; {} {}, {}; {}", ranks_and_verb(group.ranks, group.nodes),
                              place_text(group), name_of(group.activity), rest(waiting_, true));
        }
        add_finding(Kind::moving, std::move(text));
    }

    // "3 ranks wait in all_reduce (train.py:88)", of the place of most of them.
    static std::string rest(const Groups& groups, bool wait) {
        const Places places(groups);
        const Groups& most = *places.largest;
        const std::size_t count = count_ranks(most);
        return formatted("{} {}",
                         wait ? ranks_and_verb(count, "waits", "wait") : ranks_and_verb(count),
                         place_text(*most.front()));
    }

    // What the ranks do that are not accused.
    std::string rest_of(const Groups& accused) const {
        if (!waiting_.empty()) return rest(waiting_, true);
        Groups others;
        for (const Groups* groups : {&still_, &polling_}) {
            for (const RankGroup* group : *groups) {
                if (std::ranges::count(accused, group) == 0) others.push_back(group);
            }
        }
        return others.empty() ? "" : rest(others, false);
    }

    void accuse_all(const Groups& groups) {
        const std::string others = rest_of(groups);
        for (const RankGroup* group : groups) {
            const std::string worker =
                group->worker.empty() ? ""
                                      : formatted(", and waits for its worker {}", group->worker);
            const std::string what =
                group->is_polling ? without_progress()
                                  : formatted("{}, {}", name_of(group->activity), unchanged());
            accuse(Kind::elsewhere, *group,
                   formatted("{} {}, {}{}{}{}", ranks_and_verb(group->ranks, group->nodes),
                             place_text(*group), what, worker, lock_of(*group),
                             others.empty() ? "" : "; " + others));
        }
    }

    // No rank moved. Those that neither wait for others nor poll are the first for which the others
    // may wait; then those that poll. If no rank is known to wait, most of them may.
    void add_hanging() {
        Groups suspects = still_.empty() ? polling_ : still_;
        if (suspects.empty()) return add_waiting();
        if (waiting_.empty()) {
            Groups quiet = still_;
            quiet.insert(quiet.end(), polling_.begin(), polling_.end());
            const Places places(quiet);
            const bool all_known = diagnosis_.accused.empty() && all_are_at(places);
            if (places.all.size() == 1) {
                if (all_known) add_common_place(*places.largest);
                return;
            }
            suspects.clear();
            for (const auto& [place, groups] : places.all) {
                if (&groups == places.largest) continue;
                suspects.insert(suspects.end(), groups.begin(), groups.end());
            }
        }
        accuse_all(suspects);
    }

    bool all_are_at(const Places& places) const {
        return places.largest != nullptr && count_ranks(*places.largest) == all_;
    }

    // All ranks that are left wait for others.
    void add_waiting() {
        if (waiting_.empty()) return;
        const Places places(waiting_);
        if (places.all.size() == 1) return add_common_place(*places.largest);
        if (!diagnosis_.accused.empty()) return;
        const bool are_collectives = std::ranges::all_of(
            waiting_, [](const RankGroup* group) { return group->site.is_collective; });
        if (!are_collectives) return add_waiting_places(places);
        const std::size_t most = count_ranks(*places.largest);
        for (const auto& [place, groups] : places.all) {
            if (&groups == places.largest) continue;
            for (const RankGroup* group : groups) {
                accuse(Kind::other_collective, *group,
                       formatted("{} in {}, but {} in {}: they wait for each other in different "
                                 "collectives",
                                 ranks_and_verb(group->ranks, group->nodes), group->site.text,
                                 ranks_and_verb(most), places.largest->front()->site.text));
            }
        }
    }

    // Messages, stores and the like may wait for each other without an odd one among them.
    void add_waiting_places(const Places& places) {
        std::vector<std::string> texts;
        for (const auto& [place, groups] : places.all) {
            texts.push_back(formatted("{} {}", count_ranks(groups), place_text(*groups.front())));
        }
        add_finding(Kind::unmoved,
                    formatted("all {} wait for each other, {}, {}", counted(all_, "rank"),
                              join(texts, ", "), unchanged()));
    }

    // For ranks that are all at one place.
    void add_common_place(const Groups& groups) {
        const RankGroup& first = *groups.front();
        const bool all_seen = diagnosis_.missing.empty() && !diagnosis_.is_component;
        if (!has_place(first)) return add_unknown();
        const std::string where = formatted(
            "{}{} {} {}", all_ == 1 ? "the only rank" : "all " + counted(all_, "rank"),
            all_seen ? "" : " that could be seen", all_ == 1 ? "is" : "are", place_text(first));
        std::string_view advice = "; run with --repeat 60s to see whether that lasts";
        if (!all_seen) {
            advice = "; look at the nodes that could not be seen";
        } else if (first.site.is_collective) {
            advice =
                ": none is missing there, so look at the network between the nodes (distgpu "
                "check)";
        } else if (!first.lock.empty()) {
            advice = "";
        } else if (first.is_polling) {
            advice = ": none of them has what they wait for, so look outside of the step";
        }
        const std::string what = first.is_polling ? without_progress() : unchanged();
        add_finding(Kind::unmoved, formatted("{}, {}{}{}", where, what, lock_of(first), advice));
    }

    void add_unknown() {
        const std::size_t unknown = unknown_.empty() ? all_ : count_ranks(unknown_);
        add_finding(Kind::unknown, formatted("cannot tell where {}; the table shows what "
                                             "the kernel reports about them",
                                             ranks_and_verb(unknown)));
    }

    const std::vector<NodeSample>& samples_;
    Diagnosis& diagnosis_;
    std::size_t all_ = 0;  // number of sampled ranks
    Groups moving_;
    Groups stopped_;
    Groups in_kernel_;
    Groups waiting_;  // for other ranks
    Groups polling_;
    Groups still_;    // in neither a wait nor a loop
    Groups unknown_;  // without a stack, but not asleep
};

}  // namespace

void add_findings(const std::vector<NodeSample>& samples, Diagnosis& diagnosis) {
    FindingsBuilder(samples, diagnosis).add_findings();
    std::ranges::sort(diagnosis.accused);
}

bool all_nodes_sampled(const std::vector<NodeSample>& samples, const Diagnosis& diagnosis) {
    return diagnosis.silent.empty() && std::ranges::none_of(samples, [](const NodeSample& sample) {
               return sample.times.empty();
           });
}

}  // namespace distgpu
