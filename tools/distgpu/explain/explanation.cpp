#include "explain/explanation.h"

#include "base/format.h"
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

// Of a variable, or of "GPUs" their number. Nothing: it has none.
Value value_of(const RankOfNode& rank, const std::string& name) {
    if (name == "GPUs") {
        return rank.gpus.empty() ? std::nullopt : Value(formatted("{}", rank.gpus.size()));
    }
    const std::vector<Variable>& all = rank.facts.variables;
    const auto found = std::ranges::find(all, name, &Variable::name);
    return found == all.end() ? std::nullopt : Value(found->value);
}

// Adds where a rank has something else than most; of as many those count that have nothing, else
// those with the lowest rank.
void compare(std::vector<RankOfNode>& ranks, const std::string& name) {
    std::map<Value, std::size_t> counts;
    for (const RankOfNode& rank : ranks) {
        if (!rank.facts.is_hidden) ++counts[value_of(rank, name)];
    }
    Value most;
    for (const RankOfNode& rank : ranks) {
        const Value own = value_of(rank, name);
        if (!rank.facts.is_hidden && counts[own] > counts[most]) most = own;
    }
    for (RankOfNode& rank : ranks) {
        const Value own = value_of(rank, name);
        if (own == most || rank.facts.is_hidden ||
            std::ranges::count(rank.facts.changes, name, &Change::name) > 0) {
            continue;
        }
        rank.facts.changes.push_back({Since::others, name, most, own});
    }
}

// What is the same for all ranks of most steps.
void add_changes_beside_others(std::vector<RankOfNode>& ranks) {
    std::set<std::string> names;
    for (const RankOfNode& rank : ranks) {
        for (const Variable& variable : rank.facts.variables) {
            if (is_of_step(variable.name)) names.insert(variable.name);
        }
    }
    for (const std::string& name : names) compare(ranks, name);
    compare(ranks, "GPUs");
}

std::uint32_t cpu_count(const Value& list) {
    const auto cpus = CpuSet::parse(list.value_or(""));
    return cpus ? cpus->count() : 0;
}

// Ranks whose CPUs are as many of as many, or whose number is another than planned, are alike.
std::string kind_of(const Change& change) {
    if (change.name == "CPUs") {
        return formatted("CPUs {} {}", cpu_count(change.then), cpu_count(change.now));
    }
    if (change.since == Since::planned) return formatted("planned {}", change.name);
    return formatted("{} {} {} {}", name_of(change.since), change.name, value_text(change.then),
                     value_text(change.now));
}

// Of a change, the `place`-th of each rank of the group; where it is another for each, what they
// have in common.
std::string to_text(const std::vector<RankOfNode>& ranks, const ExplainedGroup& group,
                    std::size_t place) {
    const auto change = [&](std::size_t member) -> const Change& {
        return ranks[member].facts.changes[place];
    };
    const Change& first = change(group.members.front());
    if (std::ranges::count(group.members, first, change) == std::ssize(group.members)) {
        return to_text(first);
    }
    if (first.name != "CPUs") {
        return formatted("{} is not what distgpu plans; --rank R tells each", first.name);
    }
    return formatted("each runs on {}, and its task began on {}",
                     counted(cpu_count(first.now), "CPU"), counted(cpu_count(first.then), "CPU"));
}

std::vector<ExplainedGroup> group(const std::vector<RankOfNode>& ranks) {
    std::map<std::vector<std::string>, ExplainedGroup> groups;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        std::vector<std::string> kind;
        for (const Change& change : ranks[i].facts.changes) kind.push_back(kind_of(change));
        ExplainedGroup& group = groups[kind];
        group.ranks.push_back(ranks[i].rank);
        group.members.push_back(i);
        if (std::ranges::count(group.nodes, ranks[i].node) == 0) {
            group.nodes.push_back(ranks[i].node);
        }
    }
    std::vector<ExplainedGroup> sorted;
    for (auto& [kind, group] : groups) {
        for (std::size_t i = 0; i < kind.size(); ++i) {
            group.otherwise.push_back(to_text(ranks, group, i));
        }
        sorted.push_back(std::move(group));
    }
    std::ranges::sort(sorted, {}, [](const ExplainedGroup& group) {
        return std::tuple(group.otherwise.empty(), group.ranks.size(), group.ranks.front());
    });
    return sorted;
}

void add_notes(const std::vector<NodeLook>& looks, Explanation& explanation) {
    std::set<std::string> notes;
    std::vector<std::string> unprepared;
    for (const NodeLook& look : looks) {
        if (!look.problem.empty()) notes.insert(look.problem);
        const bool has_ranks = std::ranges::any_of(
            look.processes, [](const ProcessLook& process) { return process.facts.has_value(); });
        if (look.spec.empty() && has_ranks) unprepared.push_back(look.node);
    }
    explanation.notes.assign(notes.begin(), notes.end());
    if (!explanation.spec.empty() && !unprepared.empty()) {
        explanation.notes.push_back(
            formatted("distgpu did not prepare the tasks on {}", join(unprepared, ", ")));
    }
    std::vector<std::uint32_t> hidden;
    for (const RankOfNode& rank : explanation.ranks) {
        if (rank.facts.is_hidden) hidden.push_back(rank.rank);
    }
    if (!hidden.empty()) {
        explanation.notes.push_back(
            formatted("{}: the kernel shows nobody the variables of a program that forbids it "
                      "(PR_SET_DUMPABLE)",
                      ranks_text(hidden)));
    }
    if (explanation.ranks.empty()) return;
    explanation.notes.emplace_back(
        "Variables are those with which each process began: what a program sets itself afterwards "
        "(os.environ, setenv), the kernel does not show.");
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
    if (change.name == "GPUs") {
        return formatted("GPUs that it may use: {}, and of other ranks: {}",
                         change.now ? now : "none", change.then ? then : "none");
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words{
        {{", and was ", " when the task began"},
         {", but distgpu gave ", ""},
         {", but distgpu plans ", ""},
         {", but ", " for other ranks"}}};
    const auto& [before, after] = words.at(static_cast<std::size_t>(change.since));
    return formatted("{} is {}{}{}{}", change.name, now, before, then, after);
}

Explanation explain(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent) {
    Explanation explanation;
    explanation.silent = silent;
    explanation.nodes = static_cast<std::uint32_t>(looks.size() + silent.size());
    for (const NodeLook& look : looks) {
        if (explanation.spec.empty()) explanation.spec = look.spec;
    }
    for (const RankLook& seen : find_ranks(looks, 0).seen) {
        const ProcessLook& process = *seen.process;
        if (!process.facts) continue;
        explanation.ranks.push_back({seen.rank, seen.node->node, process.pid, process.command,
                                     process.gpus, *process.facts});
    }
    add_changes_beside_others(explanation.ranks);
    explanation.groups = group(explanation.ranks);
    add_notes(looks, explanation);
    return explanation;
}

}  // namespace distgpu
