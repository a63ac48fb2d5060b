#include "explain/explanation.h"

#include "base/format.h"
#include "explain/changes.h"
#include "mapping/topology/cpu_set.h"
#include "ranks_text.h"

#include <algorithm>
#include <map>
#include <set>
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

Value value_of(const RankFacts& rank, const std::string& name) {
    const auto found = std::find_if(rank.variables.begin(), rank.variables.end(),
                                    [&](const Variable& each) { return each.name == name; });
    return found == rank.variables.end() ? std::nullopt : Value(found->value);
}

// Nothing: it names none.
Value gpu_count(const RankFacts& rank, const std::string& /*name*/) {
    return rank.gpus.empty() ? std::nullopt : Value(formatted("{}", rank.gpus.size()));
}

using Reader = Value (*)(const RankFacts&, const std::string&);

// Of as many no value, else that of the lowest rank.
Value most_common(const std::vector<RankOfNode>& ranks, const std::string& name, Reader read) {
    std::map<Value, std::size_t> counts;
    for (const RankOfNode& rank : ranks) {
        if (!rank.facts.is_hidden) ++counts[read(rank.facts, name)];
    }
    std::size_t most = 0;
    for (const auto& [value, count] : counts) most = std::max(most, count);
    if (counts.contains(std::nullopt) && counts.at(std::nullopt) == most) return std::nullopt;
    const auto has_most = [&](const RankOfNode& rank) {
        return !rank.facts.is_hidden && counts.at(read(rank.facts, name)) == most;
    };
    const auto lowest = std::find_if(ranks.begin(), ranks.end(), has_most);
    return lowest == ranks.end() ? std::nullopt : read(lowest->facts, name);
}

bool is_told(const RankFacts& rank, const std::string& name) {
    return std::any_of(rank.changes.begin(), rank.changes.end(),
                       [&](const Change& change) { return change.name == name; });
}

void compare(std::vector<RankOfNode>& ranks, const std::string& name, Reader read) {
    const Value most = most_common(ranks, name, read);
    for (RankOfNode& rank : ranks) {
        const Value own = read(rank.facts, name);
        if (own == most || rank.facts.is_hidden || is_told(rank.facts, name)) continue;
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
    for (const std::string& name : names) compare(ranks, name, value_of);
    compare(ranks, "GPUs", gpu_count);
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

std::vector<std::string> kind_of(const RankFacts& rank) {
    std::vector<std::string> kind;
    for (const Change& change : rank.changes) kind.push_back(kind_of(change));
    return kind;
}

// Of a change that is another for each rank what they have in common.
std::string to_text(const std::vector<const Change*>& alike) {
    const Change& first = *alike.front();
    const bool same =
        std::all_of(alike.begin(), alike.end(), [&](const Change* each) { return *each == first; });
    if (same) return to_text(first);
    if (first.name != "CPUs") {
        return formatted("{} is not what distgpu plans; --rank R tells each", first.name);
    }
    return formatted("each runs on {}, and its task began on {}",
                     counted(cpu_count(first.now), "CPU"), counted(cpu_count(first.then), "CPU"));
}

void add_sentences(const std::vector<RankOfNode>& ranks, ExplainedGroup& group) {
    const std::size_t changes = ranks[group.members.front()].facts.changes.size();
    for (std::size_t i = 0; i < changes; ++i) {
        std::vector<const Change*> alike;
        for (const std::size_t member : group.members) {
            alike.push_back(&ranks[member].facts.changes[i]);
        }
        group.otherwise.push_back(to_text(alike));
    }
}

std::vector<ExplainedGroup> group(const std::vector<RankOfNode>& ranks) {
    std::map<std::vector<std::string>, ExplainedGroup> groups;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        ExplainedGroup& group = groups[kind_of(ranks[i].facts)];
        group.ranks.push_back(ranks[i].facts.rank);
        group.members.push_back(i);
        if (std::find(group.nodes.begin(), group.nodes.end(), ranks[i].node) == group.nodes.end()) {
            group.nodes.push_back(ranks[i].node);
        }
    }
    std::vector<ExplainedGroup> sorted;
    for (auto& [kind, group] : groups) {
        add_sentences(ranks, group);
        sorted.push_back(std::move(group));
    }
    const auto order = [](const ExplainedGroup& group) {
        return std::tuple(group.otherwise.empty(), group.ranks.size(), group.ranks.front());
    };
    std::sort(sorted.begin(), sorted.end(),
              [&](const ExplainedGroup& left, const ExplainedGroup& right) {
                  return order(left) < order(right);
              });
    return sorted;
}

void add_notes(const std::vector<NodeFactsNow>& nodes, Explanation& explanation) {
    std::set<std::string> notes;
    std::vector<std::string> unprepared;
    for (const NodeFactsNow& node : nodes) {
        if (!node.problem.empty()) notes.insert(node.problem);
        if (node.spec.empty() && !node.ranks.empty()) unprepared.push_back(node.node);
    }
    explanation.notes.assign(notes.begin(), notes.end());
    if (!explanation.spec.empty() && !unprepared.empty()) {
        explanation.notes.push_back(
            formatted("distgpu did not prepare the tasks on {}", join(unprepared, ", ")));
    }
    std::vector<std::uint32_t> hidden;
    for (const RankOfNode& rank : explanation.ranks) {
        if (rank.facts.is_hidden) hidden.push_back(rank.facts.rank);
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
    switch (change.since) {
        case Since::start:
            return formatted("{} is {}, and was {} when the task began", change.name, now, then);
        case Since::given:
            return formatted("{} is {}, but distgpu gave {}", change.name, now, then);
        case Since::planned:
            return formatted("{} is {}, but distgpu plans {}", change.name, now, then);
        case Since::others:
            return formatted("{} is {}, but {} for other ranks", change.name, now, then);
    }
    return "";
}

Explanation explain(const std::vector<NodeFactsNow>& nodes,
                    const std::vector<std::string>& silent) {
    Explanation explanation;
    explanation.silent = silent;
    explanation.nodes = static_cast<std::uint32_t>(nodes.size() + silent.size());
    const bool by_variable = std::any_of(nodes.begin(), nodes.end(),
                                         [](const NodeFactsNow& node) { return node.by_variable; });
    for (const NodeFactsNow& node : nodes) {
        if (explanation.spec.empty()) explanation.spec = node.spec;
        // Its launcher has not begun ranks.
        if (node.by_variable != by_variable) continue;
        for (const RankFacts& rank : node.ranks) explanation.ranks.push_back({node.node, rank});
    }
    std::stable_sort(explanation.ranks.begin(), explanation.ranks.end(),
                     [](const RankOfNode& left, const RankOfNode& right) {
                         return left.facts.rank < right.facts.rank;
                     });
    add_changes_beside_others(explanation.ranks);
    explanation.groups = group(explanation.ranks);
    add_notes(nodes, explanation);
    return explanation;
}

}  // namespace distgpu
