#include "explain/explanation.h"

#include "base/format.h"
#include "inspect/ranks.h"
#include "mapping/topology/cpu_set.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

using Since = Change::Since;
using Value = std::optional<std::string>;

std::string cpus_text(const std::string& list) {
    const bool is_one = list.find_first_of(",-") == std::string::npos;
    return formatted("CPU{} {}", is_one ? "" : "s", list);
}

// The value of a variable, or the number of GPUs for the name "GPUs"; nullopt if the rank has none.
Value value_of(const ExplainedRank& rank, const std::string& name) {
    if (name == "GPUs") {
        return rank.gpus.empty() ? std::nullopt : Value(formatted("{}", rank.gpus.size()));
    }
    const std::vector<Variable>& all = rank.facts.variables;
    const auto found = std::ranges::find(all, name, &Variable::name);
    return found == all.end() ? std::nullopt : Value(found->value);
}

// Adds a change for each rank whose value differs from most others'. On a tie "not set" counts as
// the majority, or else the value of the lowest rank. Ranks that lost their GPUs are no example of
// how many a rank should have.
void add_outliers(std::vector<ExplainedRank>& ranks, const std::string& name) {
    std::map<Value, std::size_t> counts;
    for (const ExplainedRank& rank : ranks) {
        const bool lost_gpus =
            name == "GPUs" && std::ranges::count(rank.facts.changes, name, &Change::name) > 0;
        if (!rank.facts.is_hidden && !lost_gpus) ++counts[value_of(rank, name)];
    }
    Value majority;
    for (const ExplainedRank& rank : ranks) {
        const Value own = value_of(rank, name);
        if (!rank.facts.is_hidden && counts[own] > counts[majority]) majority = own;
    }
    for (ExplainedRank& rank : ranks) {
        const Value own = value_of(rank, name);
        if (own == majority || rank.facts.is_hidden ||
            std::ranges::count(rank.facts.changes, name, &Change::name) > 0) {
            continue;
        }
        rank.facts.changes.push_back({Since::others, name, majority, own});
    }
}

// Compares the variables and the number of GPUs that are the same for all ranks of most steps.
void compare_ranks(std::vector<ExplainedRank>& ranks) {
    std::set<std::string> names;
    for (const ExplainedRank& rank : ranks) {
        for (const Variable& variable : rank.facts.variables) {
            if (is_step_wide(variable.name)) names.insert(variable.name);
        }
    }
    for (const std::string& name : names) add_outliers(ranks, name);
    add_outliers(ranks, "GPUs");
}

std::uint32_t cpu_count(const Value& list) {
    const auto cpus = CpuSet::parse(list.value_or(""));
    return cpus ? cpus->count() : 0;
}

// Ranks whose changes have the same keys form a group. The CPUs themselves and the planned values
// are not part of a key, because they differ for each rank.
std::string group_key(const Change& change) {
    if (change.name == "CPUs") {
        return formatted("CPUs {} {}", cpu_count(change.then), cpu_count(change.now));
    }
    if (change.since == Since::planned && change.name != "GPUs")
        return formatted("planned {}", change.name);
    return formatted("{} {} {} {}", name_of(change.since), change.name, value_text(change.then),
                     value_text(change.now));
}

// Describes change number `index` of each rank of the group: if they differ, what they have in
// common.
std::string to_text(const std::vector<ExplainedRank>& ranks, const ExplainedGroup& group,
                    std::size_t index) {
    const auto change = [&](std::size_t member) -> const Change& {
        return ranks[member].facts.changes[index];
    };
    const Change& first = change(group.members.front());
    if (std::ranges::count(group.members, first, change) == std::ssize(group.members)) {
        return to_text(first);
    }
    if (first.name != "CPUs") {
        return formatted("{} is not what distgpu plans; see each rank with --rank R", first.name);
    }
    return formatted("each runs on {}, and its task began on {}",
                     counted(cpu_count(first.now), "CPU"), counted(cpu_count(first.then), "CPU"));
}

std::vector<ExplainedGroup> group_ranks(const std::vector<ExplainedRank>& ranks) {
    std::map<std::vector<std::string>, ExplainedGroup> groups;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        std::vector<std::string> key;
        for (const Change& change : ranks[i].facts.changes) key.push_back(group_key(change));
        ExplainedGroup& group = groups[key];
        group.ranks.push_back(ranks[i].rank);
        group.members.push_back(i);
        if (std::ranges::count(group.nodes, ranks[i].node) == 0) {
            group.nodes.push_back(ranks[i].node);
        }
    }
    std::vector<ExplainedGroup> sorted;
    for (auto& [key, group] : groups) {
        for (std::size_t i = 0; i < key.size(); ++i) {
            group.changes.push_back(to_text(ranks, group, i));
        }
        sorted.push_back(std::move(group));
    }
    std::ranges::sort(sorted, {}, [](const ExplainedGroup& group) {
        return std::tuple(group.changes.empty(), group.ranks.size(), group.ranks.front());
    });
    return sorted;
}

void add_notes(const std::vector<NodeSample>& samples, Explanation& explanation) {
    std::set<std::string> notes;
    std::vector<std::string> unprepared;
    for (const NodeSample& sample : samples) {
        if (!sample.problem.empty()) notes.insert(sample.problem);
        const bool has_ranks = std::ranges::any_of(
            sample.processes,
            [](const ProcessSample& process) { return process.facts.has_value(); });
        if (sample.spec.empty() && has_ranks) unprepared.push_back(sample.node);
    }
    explanation.notes.assign(notes.begin(), notes.end());
    if (!explanation.spec.empty() && !unprepared.empty()) {
        explanation.notes.push_back(
            formatted("distgpu did not prepare the tasks on {}", join(unprepared, ", ")));
    }
    std::vector<std::uint32_t> hidden;
    for (const ExplainedRank& rank : explanation.ranks) {
        if (rank.facts.is_hidden) hidden.push_back(rank.rank);
    }
    if (!hidden.empty()) {
        explanation.notes.push_back(
            formatted("{}: variables cannot be read, because the program forbids it "
                      "(PR_SET_DUMPABLE)",
                      ranks_text(hidden)));
    }
    if (explanation.ranks.empty()) return;
    explanation.notes.emplace_back(
        "Variables are those that each process started with: the kernel does not show what a "
        "program itself sets later (os.environ, setenv).");
}

}  // namespace

std::string value_text(const std::optional<std::string>& value) {
    if (!value) return "not set";
    return value->empty() ? "empty" : *value;
}

std::string to_text(const Change& change) {
    const std::string now = value_text(change.now);
    const std::string then = value_text(change.then);
    if (change.name == "CPUs") {
        return formatted("runs on {}, and its task began on {}", cpus_text(now), cpus_text(then));
    }
    if (change.name == "GPUs" && change.since == Since::planned) {
        return formatted("{}, but the step has {} GPU{} on the node", now, then,
                         then == "1" ? "" : "s");
    }
    if (change.name == "GPUs") {
        return formatted("GPUs that it may use: {}; other ranks: {}", change.now ? now : "none",
                         change.then ? then : "none");
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words{
        {{", and was ", " when the task began"},
         {", but distgpu gave ", ""},
         {", but distgpu plans ", ""},
         {", but ", " for other ranks"}}};
    const auto& [before, after] = words.at(static_cast<std::size_t>(change.since));
    // Neither a launcher nor a library sets these.
    const bool is_device_list = change.name.ends_with("VISIBLE_DEVICES") && change.now;
    const char* const cause = change.since == Since::given && is_device_list
                                  ? "; usually a wrapper script around the program sets it"
                                  : "";
    return formatted("{} is {}{}{}{}{}", change.name, now, before, then, after, cause);
}

namespace {

// `ranks`: all in this state, on this node, and ended in this way.
std::string ending_sentence(const std::vector<std::uint32_t>& ranks, const MissingRank& alike) {
    const bool is_one = ranks.size() == 1;
    const std::string who = ranks_text(ranks);
    switch (alike.state) {
        case MissingRank::State::ended:
            return alike.how.empty()
                       ? formatted("{} on {} {} ended", who, alike.node, is_one ? "has" : "have")
                       : formatted("{} on {}: {} {}", who, alike.node, is_one ? "it" : "each",
                                   alike.how);
        case MissingRank::State::task_runs:
            return formatted("{}: no process on {} has {}, but {}", who, alike.node,
                             is_one ? "this RANK" : "these RANKs",
                             is_one ? "its task runs" : "their tasks run");
        case MissingRank::State::node_is_empty:
            return formatted("{}: no process of the step runs on {}", who,
                             !alike.node.empty() ? alike.node
                             : is_one            ? "its node"
                                                 : "their nodes");
        case MissingRank::State::unseen:
            break;
    }
    return formatted("{}: no process of {} was seen", who, is_one ? "it" : "them");
}

}  // namespace

std::vector<std::string> ending_sentences(const std::vector<MissingRank>& missing,
                                          const std::vector<Zombie>& zombies) {
    std::map<std::tuple<MissingRank::State, std::string, std::string>, std::vector<std::uint32_t>>
        groups;
    for (const MissingRank& rank : missing) {
        groups[{rank.state, rank.node, rank.how}].push_back(rank.rank);
    }
    std::vector<std::string> sentences;
    for (const auto& [key, ranks] : groups) {
        const auto& [state, node, how] = key;
        sentences.push_back(ending_sentence(ranks, {ranks.front(), state, node, how}));
    }
    for (const Zombie& zombie : zombies) {
        const bool is_rank = std::ranges::any_of(missing, [&](const MissingRank& rank) {
            return rank.node == zombie.node && rank.how == zombie.how && rank.rank == zombie.task;
        });
        if (is_rank) continue;
        sentences.push_back(
            formatted("on {} process {} {} {}", zombie.node, zombie.pid, zombie.name, zombie.how));
    }
    return sentences;
}

namespace {

// For a component, whose tasks cannot be matched with ranks: "1 task on node02 has ended".
void add_ended_tasks(const std::vector<NodeSample>& samples, std::vector<std::string>& sentences) {
    for (const NodeSample& sample : samples) {
        const std::size_t count = ended_task_count(sample);
        if (count == 0) continue;
        sentences.push_back(formatted("{} on {} {} ended", counted(count, "task"), sample.node,
                                      count == 1 ? "has" : "have"));
    }
}

}  // namespace

Explanation explain(const std::vector<NodeSample>& samples, const std::vector<std::string>& silent,
                    std::uint32_t tasks, bool is_component) {
    Explanation explanation;
    explanation.silent = silent;
    explanation.nodes = static_cast<std::uint32_t>(samples.size() + silent.size());
    for (const NodeSample& sample : samples) {
        if (explanation.spec.empty()) explanation.spec = sample.spec;
    }
    const Ranks ranks = find_ranks(samples, tasks, is_component);
    for (const RankSample& seen : ranks.seen) {
        const ProcessSample& process = *seen.process;
        if (!process.facts) continue;
        explanation.ranks.push_back({seen.rank, seen.node->node, process.pid, process.command,
                                     process.gpus, *process.facts});
    }
    explanation.expected = ranks.expected;
    if (!explanation.ranks.empty()) {
        explanation.missing = describe_missing(samples, ranks, tasks, silent.empty());
    }
    if (!explanation.missing.empty()) explanation.zombies = find_zombies(samples);
    explanation.endings = ending_sentences(explanation.missing, explanation.zombies);
    if (is_component) add_ended_tasks(samples, explanation.endings);
    compare_ranks(explanation.ranks);
    explanation.groups = group_ranks(explanation.ranks);
    add_notes(samples, explanation);
    return explanation;
}

}  // namespace distgpu
