// `distgpu explain`: shows what each rank of a running step was given, and what has changed since.
#include "base/format.h"
#include "command_line.h"
#include "explain/explanation.h"
#include "inspect/sample_all_nodes.h"
#include "node/gpus.h"
#include "node/machine.h"
#include "output.h"
#include "slurm/find_running_step.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

bool is_hiding_gpus(const ExplainedRank& rank) {
    EnvironmentCopy variables;
    for (const auto& [name, value] : rank.facts.variables) variables.set(name, value);
    return hides_all_gpus(variables);
}

std::string gpu_names(const ExplainedRank& rank) {
    std::vector<std::string> names;
    for (const GpuFacts& gpu : rank.gpus) names.push_back(gpu.name);
    return names.empty() && is_hiding_gpus(rank) ? "none" : join(names, ",");
}

std::string hca_names(const ExplainedRank& rank) {
    std::string hcas;
    for (const auto& [name, value] : rank.facts.variables) {
        if (name == "NCCL_IB_HCA" && !value.empty()) return value;
        if (name == "UCX_NET_DEVICES") hcas = value;
    }
    return hcas;
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string group_table(const Explanation& explanation, bool colour) {
    std::vector<Row> rows{{"RANKS", "NODES", "LOCAL", "CPUS", "GPUS", "HCAS"}};
    for (const ExplainedGroup& group : explanation.groups) {
        // The different values of its ranks, in their order.
        const auto column = [&](auto&& value_of) {
            constexpr std::size_t max_values = 4;
            std::vector<std::string> values;
            for (const std::size_t member : group.members) {
                std::string cell = or_dash(value_of(explanation.ranks[member]));
                if (std::ranges::count(values, cell) == 0) values.push_back(std::move(cell));
            }
            return values.size() <= max_values ? join(values, " ")
                                               : formatted("{} kinds", values.size());
        };
        const auto local_of = [](const ExplainedRank& rank) {
            return rank.facts.local_rank ? formatted("{}", *rank.facts.local_rank) : "";
        };
        rows.push_back({ranks_text(group.ranks), nodes_cell(group.nodes), column(local_of),
                        column([](const auto& rank) { return rank.facts.cpus; }), column(gpu_names),
                        column(hca_names)});
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

std::string changes_text(const Explanation& explanation) {
    std::string text;
    for (const std::string& ending : explanation.endings) text += printable(ending) + "\n";
    for (const ExplainedGroup& group : explanation.groups) {
        const std::string who = ranks_on_nodes(group.ranks, group.nodes);
        const bool is_one = group.ranks.size() == 1;
        if (group.changes.empty()) {
            text += formatted("{} {} unchanged since {} began\n", who, is_one ? "is" : "are",
                              is_one ? "it" : "they");
            continue;
        }
        text += who + ":\n";
        for (const std::string& sentence : group.changes) {
            text += formatted("  {}\n", printable(sentence));
        }
    }
    return text;
}

// What could not be read, a paragraph each.
std::string notes_text(const Explanation& explanation) {
    std::string text;
    for (const std::string& note : with_silent_nodes(explanation.silent, explanation.notes)) {
        text += "\n" + note + "\n";
    }
    return text;
}

// The variable's earlier, planned or usual value; empty if it has not changed.
std::string change_note(const RankFacts& rank, const std::string& name) {
    const auto change = std::ranges::find(rank.changes, name, &Change::name);
    if (change == rank.changes.end()) return "";
    constexpr std::array<std::string_view, 4> words{"when the task began", "distgpu gave",
                                                    "distgpu plans", "other ranks"};
    return formatted("{}: {}", words.at(static_cast<std::size_t>(change->since)),
                     value_text(change->then));
}

std::string variable_table(const RankFacts& rank, bool colour) {
    std::vector<Row> rows{{"VARIABLE", "VALUE", ""}};
    for (const Variable& variable : rank.variables) {
        rows.push_back({variable.name, variable.value, change_note(rank, variable.name)});
    }
    for (const Change& change : rank.changes) {
        if (!change.now && change.name != "CPUs" && change.name != "GPUs") {
            rows.push_back({change.name, "not set", change_note(rank, change.name)});
        }
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

std::string device_lines(const ExplainedRank& rank) {
    const RankFacts& facts = rank.facts;
    std::string text = formatted("  CPUs {}{}\n", or_dash(facts.cpus),
                                 facts.cpus_at_start.empty() || facts.cpus_at_start == facts.cpus
                                     ? ""
                                     : formatted("; its task began on {}", facts.cpus_at_start));
    if (rank.gpus.empty() && is_hiding_gpus(rank)) {
        text += "  no GPU: CUDA_VISIBLE_DEVICES names none\n";
    }
    for (const GpuFacts& gpu : rank.gpus) {
        std::vector<std::string> parts{gpu.name, gpu.pci, gpu.file, gpu.model};
        std::erase(parts, "");
        text += formatted("  GPU {}\n", printable(join(parts, ", ")));
    }
    if (!facts.open_gpus.empty()) text += formatted("  open {}\n", join(facts.open_gpus, " "));
    return text;
}

JsonText group_json(const ExplainedGroup& group) {
    return {{"ranks", JsonText::list(group.ranks)},
            {"nodes", JsonText::list(group.nodes)},
            {"otherwise", JsonText::list(group.changes)}};
}

JsonText gpu_json(const GpuFacts& gpu) {
    return {{"name", gpu.name},
            {"pci", json_text_or_null(gpu.pci)},
            {"file", json_text_or_null(gpu.file)},
            {"model", json_text_or_null(gpu.model)}};
}

JsonText missing_json(const MissingRank& rank) {
    return {{"rank", rank.rank},
            {"node", json_text_or_null(rank.node)},
            {"ended", rank.state == MissingRank::State::ended},
            {"how", json_text_or_null(rank.how)}};
}

JsonText explained_rank_json(const ExplainedRank& rank) {
    const RankFacts& facts = rank.facts;
    return {{"node", rank.node},
            {"facts", JsonText{{"rank", rank.rank},
                               {"local_rank", facts.local_rank},
                               {"task", facts.task},
                               {"pid", rank.pid},
                               {"command", rank.command},
                               {"launchers", JsonText::list(facts.launchers)},
                               {"cpus", json_text_or_null(facts.cpus)},
                               {"cpus_then", json_text_or_null(facts.cpus_at_start)},
                               {"gpus", JsonText::list(rank.gpus, gpu_json)},
                               {"open_gpus", JsonText::list(facts.open_gpus)},
                               {"variables", JsonText::list(facts.variables, to_json<Variable>)},
                               {"changes", JsonText::list(facts.changes, to_json<Change>)},
                               {"hidden", facts.is_hidden}}}};
}

}  // namespace

std::string explanation_text(const std::string& step, const Explanation& explanation, bool colour) {
    std::string text = formatted(
        "step {}: {}{} on {}", step,
        explanation.missing.empty() ? "" : formatted("{} of ", explanation.ranks.size()),
        counted(explanation.missing.empty() ? explanation.ranks.size() : explanation.expected,
                "rank"),
        counted(explanation.nodes, "node"));
    if (explanation.ranks.empty()) {
        text += "\n\nno rank was seen\n";
    } else {
        text += explanation.spec.empty() ? ", which distgpu did not prepare"
                                         : ", prepared by --distgpu=" + printable(explanation.spec);
        text += "\n\n" + changes_text(explanation) + "\n" + group_table(explanation, colour);
    }
    return text + notes_text(explanation);
}

std::string explanation_json(const ResultHead& head, const Explanation& explanation,
                             const std::vector<ExplainedRank>& ranks) {
    const JsonText json{{"schema", "distgpu.explain/1"},
                        {"date", head.date},
                        {"cluster", json_text_or_null(head.cluster)},
                        {"user", json_text_or_null(head.user)},
                        {"job", head.job},
                        {"state", head.state},
                        {"step", json_text_or_null(head.step)},
                        {"spec", json_text_or_null(explanation.spec)},
                        {"groups", JsonText::list(explanation.groups, group_json)},
                        {"ranks", JsonText::list(ranks, explained_rank_json)},
                        {"missing", JsonText::list(explanation.missing, missing_json)},
                        {"ended", JsonText::list(explanation.zombies, zombie_json)},
                        {"silent", JsonText::list(explanation.silent)},
                        {"notes", JsonText::list(explanation.notes)}};
    return json.indented();
}

std::string rank_text(const Explanation& explanation, const ExplainedRank& rank, bool colour) {
    const RankFacts& facts = rank.facts;
    std::string text = formatted("rank {} on {}", rank.rank, rank.node);
    if (facts.local_rank) text += formatted(", local rank {}", *facts.local_rank);
    if (facts.task) text += formatted(", task {}", *facts.task);
    text += formatted(": process {} {}\n", rank.pid, printable(rank.command));
    for (const std::string& launcher : facts.launchers) {
        text += formatted("  started by {}\n", printable(launcher));
    }
    return text + device_lines(rank) + "\n" + variable_table(facts, colour) +
           notes_text(explanation);
}

namespace {

struct Arguments {
    std::string step;
    std::optional<std::uint32_t> rank;
    std::string format = "table";
    bool node = false;
};

// What run_explain() starts on each node.
ExitCode print_rank_facts(const Arguments& arguments) {
    const ProcessEnvironment environment;
    const std::string node = environment.text("SLURMD_NODENAME");
    const auto facts = collect_rank_facts(node, arguments.step, environment);
    if (!facts) return report_error(facts.error(), ExitCode::environment);
    return print_result(answer_lines(node, to_json(*facts).line()), ExitCode::done);
}

ExitCode run_explain(const Arguments& arguments) {
    if (arguments.node) return print_rank_facts(arguments);
    const bool is_json = arguments.format == "json";
    const ProcessEnvironment environment;
    const auto found = find_step(arguments.step, environment);
    if (!found) return report_step_error(arguments.step, found.error());
    const ResultHead head = is_json ? result_head(*found, environment) : ResultHead();
    if (!found->step) {
        Explanation nothing;
        nothing.notes = {found->sentence};
        return print_result(is_json ? explanation_json(head, nothing, {}) : found->sentence + "\n",
                            ExitCode::done);
    }
    const RunningStep& step = *found->step;
    const auto sample = sample_all_nodes(step, {"explain", "--node"}, std::chrono::seconds(0));
    if (!sample) return report_error(sample.error(), ExitCode::environment);
    const Explanation explanation =
        explain(sample->nodes, sample->silent, step.tasks, step.is_component);
    const auto rank = std::ranges::find(explanation.ranks, arguments.rank, &ExplainedRank::rank);
    if (arguments.rank && rank == explanation.ranks.end()) {
        const bool is_missing =
            std::ranges::count(explanation.missing, *arguments.rank, &MissingRank::rank) > 0;
        return report_error({formatted("--rank {}", *arguments.rank),
                             is_missing ? "no process of it was seen" : "no such rank was seen",
                             formatted("see distgpu explain {}", step.id)},
                            ExitCode::environment);
    }
    const auto ranks = arguments.rank ? std::vector{*rank} : explanation.ranks;
    if (is_json) return print_result(explanation_json(head, explanation, ranks), ExitCode::done);
    return print_result(arguments.rank
                            ? rank_text(explanation, *rank, has_colour_output())
                            : explanation_text(step.id, explanation, has_colour_output()),
                        ExitCode::done);
}

}  // namespace

Subcommand explain_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "explain",
            .help =
                "Show what each rank of your running step was given, and what has changed since. "
                "Reads the step's processes in an extra step that overlaps it.",
            .options = {step_option(arguments->step),
                        {.name = "--rank",
                         .target = &arguments->rank,
                         .help = "Show everything about this rank",
                         .value_name = "N"},
                        format_option(arguments->format),
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "Internal: run by the extra step on each node"}},
            .run = [arguments] { return run_explain(*arguments); }};
}

}  // namespace distgpu
