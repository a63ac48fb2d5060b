#include "explain/explanation_output.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "ranks_text.h"
#include "table.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string value_of(const RankFacts& rank, std::string_view name) {
    const auto found =
        std::find_if(rank.variables.begin(), rank.variables.end(),
                     [&](const Variable& variable) { return variable.name == name; });
    return found == rank.variables.end() ? "" : found->value;
}

std::string gpus_of(const RankFacts& rank) {
    std::vector<std::string> names;
    for (const GpuFacts& gpu : rank.gpus) names.push_back(gpu.name);
    return join(names, ",");
}

std::string hcas_of(const RankFacts& rank) {
    std::string hcas = value_of(rank, "NCCL_IB_HCA");
    return hcas.empty() ? value_of(rank, "UCX_NET_DEVICES") : hcas;
}

std::string local_rank_of(const RankFacts& rank) {
    return rank.local_rank ? formatted("{}", *rank.local_rank) : "";
}

// What the ranks of a group have there, in their order; of more than a few kinds their number.
std::string cell(const Explanation& explanation, const ExplainedGroup& group,
                 std::string (*of)(const RankFacts&)) {
    constexpr std::size_t most = 4;
    std::vector<std::string> kinds;
    for (const std::size_t member : group.members) {
        std::string text = or_dash(of(explanation.ranks[member].facts));
        if (std::find(kinds.begin(), kinds.end(), text) == kinds.end()) {
            kinds.push_back(std::move(text));
        }
    }
    return kinds.size() <= most ? join(kinds, " ") : formatted("{} kinds", kinds.size());
}

std::string group_table(const Explanation& explanation, bool colour) {
    std::vector<Row> rows{{"RANKS", "NODES", "LOCAL", "CPUS", "GPUS", "HCAS"}};
    for (const ExplainedGroup& group : explanation.groups) {
        constexpr std::size_t most_nodes = 4;
        const bool fits = group.nodes.size() <= most_nodes;
        const auto of = [&](std::string (*what)(const RankFacts&)) {
            return cell(explanation, group, what);
        };
        rows.push_back({ranks_text(group.ranks),
                        fits ? join(group.nodes, ",") : counted(group.nodes.size(), "node"),
                        of(local_rank_of), of([](const RankFacts& rank) { return rank.cpus; }),
                        of(gpus_of), of(hcas_of)});
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

std::string who(const ExplainedGroup& group) {
    constexpr std::size_t most_nodes = 4;
    std::string ranks = ranks_text(group.ranks);
    if (group.nodes.size() > most_nodes) return ranks;
    return formatted("{} on {}", ranks, join(group.nodes, ", "));
}

std::string sentences(const Explanation& explanation) {
    std::string text;
    for (const ExplainedGroup& group : explanation.groups) {
        const bool is_one = group.ranks.size() == 1;
        if (group.otherwise.empty()) {
            text += formatted("{} {} what {} began with\n", who(group), is_one ? "has" : "have",
                              is_one ? "it" : "they");
            continue;
        }
        text += who(group) + ":\n";
        for (const std::string& sentence : group.otherwise) {
            text += formatted("  {}\n", printable(sentence));
        }
    }
    return text;
}

std::string prepared(const Explanation& explanation) {
    if (explanation.ranks.empty()) return "";
    return explanation.spec.empty() ? ", which distgpu did not prepare"
                                    : ", prepared by --distgpu=" + printable(explanation.spec);
}

std::string not_seen(const Explanation& explanation) {
    std::string text;
    if (!explanation.silent.empty()) {
        text += formatted("\nno answer from {}\n", join(explanation.silent, ", "));
    }
    for (const std::string& note : explanation.notes) text += "\n" + note + "\n";
    return text;
}

const RankOfNode* find(const Explanation& explanation, std::uint32_t rank) {
    const auto found =
        std::find_if(explanation.ranks.begin(), explanation.ranks.end(),
                     [&](const RankOfNode& each) { return each.facts.rank == rank; });
    return found == explanation.ranks.end() ? nullptr : &*found;
}

// What else is to be said of a variable.
std::string note_on(const RankFacts& rank, const std::string& name) {
    const auto change = std::find_if(rank.changes.begin(), rank.changes.end(),
                                     [&](const Change& each) { return each.name == name; });
    if (change == rank.changes.end()) return "";
    switch (change->since) {
        case Change::Since::start:
            return "when the task began: " + value_text(change->then);
        case Change::Since::given:
            return "distgpu gave: " + value_text(change->then);
        case Change::Since::planned:
            return "distgpu plans: " + value_text(change->then);
        case Change::Since::others:
            return "other ranks: " + value_text(change->then);
    }
    return "";
}

std::string variable_table(const RankFacts& rank, bool colour) {
    std::vector<Row> rows{{"VARIABLE", "VALUE", ""}};
    for (const Variable& variable : rank.variables) {
        rows.push_back({variable.name, variable.value, note_on(rank, variable.name)});
    }
    for (const Change& change : rank.changes) {
        if (!change.now && change.name != "CPUs") {
            rows.push_back({change.name, "not set", note_on(rank, change.name)});
        }
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

std::string device_lines(const RankFacts& rank) {
    std::string text = formatted("  CPUs {}{}\n", or_dash(rank.cpus),
                                 rank.cpus_then.empty() || rank.cpus_then == rank.cpus
                                     ? ""
                                     : formatted("; its task began on {}", rank.cpus_then));
    for (const GpuFacts& gpu : rank.gpus) {
        std::vector<std::string> parts{gpu.name, gpu.pci, gpu.file, gpu.model};
        parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
        text += formatted("  GPU {}\n", printable(join(parts, ", ")));
    }
    if (!rank.open_gpus.empty()) text += formatted("  open {}\n", join(rank.open_gpus, " "));
    return text;
}

JsonText group_json(const ExplainedGroup& group) {
    return {{"ranks", JsonText::list(group.ranks)},
            {"nodes", JsonText::list(group.nodes)},
            {"otherwise", JsonText::list(group.otherwise)}};
}

JsonText rank_of_node_json(const RankOfNode& rank) {
    return {{"node", rank.node}, {"facts", to_json(rank.facts)}};
}

std::string json_of(const std::string& step, const Explanation& explanation,
                    const std::vector<RankOfNode>& ranks) {
    const JsonText json{{"schema", "distgpu.explain/1"},
                        {"step", step},
                        {"spec", json_text_or_null(explanation.spec)},
                        {"groups", JsonText::list(explanation.groups, group_json)},
                        {"ranks", JsonText::list(ranks, rank_of_node_json)},
                        {"silent", JsonText::list(explanation.silent)},
                        {"notes", JsonText::list(explanation.notes)}};
    return json.indented();
}

}  // namespace

std::string explanation_text(const std::string& step, const Explanation& explanation, bool colour) {
    std::string text =
        formatted("step {}: {} on {}{}\n\n", step, counted(explanation.ranks.size(), "rank"),
                  counted(explanation.nodes, "node"), prepared(explanation));
    text += explanation.ranks.empty() ? "no rank was seen\n" : sentences(explanation);
    if (!explanation.groups.empty()) text += "\n" + group_table(explanation, colour);
    return text + not_seen(explanation);
}

std::string explanation_json(const std::string& step, const Explanation& explanation) {
    return json_of(step, explanation, explanation.ranks);
}

std::optional<std::string> rank_text(const Explanation& explanation, std::uint32_t rank,
                                     bool colour) {
    const RankOfNode* const found = find(explanation, rank);
    if (found == nullptr) return std::nullopt;
    const RankFacts& facts = found->facts;
    std::string text = formatted("rank {} on {}", facts.rank, found->node);
    if (facts.local_rank) text += formatted(", local rank {}", *facts.local_rank);
    if (facts.task) text += formatted(", task {}", *facts.task);
    text += formatted(": process {} {}\n", facts.pid, printable(facts.command));
    for (const std::string& launcher : facts.launchers) {
        text += formatted("  started by {}\n", printable(launcher));
    }
    text += device_lines(facts) + "\n" + variable_table(facts, colour);
    return text + not_seen(explanation);
}

std::optional<std::string> rank_json(const std::string& step, const Explanation& explanation,
                                     std::uint32_t rank) {
    const RankOfNode* const found = find(explanation, rank);
    if (found == nullptr) return std::nullopt;
    return json_of(step, explanation, {*found});
}

}  // namespace distgpu
