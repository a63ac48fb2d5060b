// `distgpu explain`: what each rank of a running step got, and what it changed since.
#include "base/format.h"
#include "command_line.h"
#include "explain/explanation.h"
#include "inspect/ask_nodes.h"
#include "node/machine.h"
#include "output.h"
#include "slurm/slurm_queries.h"
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

std::string gpus_of(const RankOfNode& rank) {
    std::vector<std::string> names;
    for (const GpuFacts& gpu : rank.gpus) names.push_back(gpu.name);
    return join(names, ",");
}

std::string hcas_of(const RankOfNode& rank) {
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
        // What its ranks have there, in their order.
        const auto column = [&](auto&& cell_of) {
            constexpr std::size_t most = 4;
            std::vector<std::string> kinds;
            for (const std::size_t member : group.members) {
                std::string cell = or_dash(cell_of(explanation.ranks[member]));
                if (std::ranges::count(kinds, cell) == 0) kinds.push_back(std::move(cell));
            }
            return kinds.size() <= most ? join(kinds, " ") : formatted("{} kinds", kinds.size());
        };
        const auto local_of = [](const RankOfNode& rank) {
            return rank.facts.local_rank ? formatted("{}", *rank.facts.local_rank) : "";
        };
        rows.push_back({ranks_text(group.ranks), nodes_cell(group.nodes), column(local_of),
                        column([](const auto& rank) { return rank.facts.cpus; }), column(gpus_of),
                        column(hcas_of)});
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

std::string sentences(const Explanation& explanation) {
    std::string text;
    for (const ExplainedGroup& group : explanation.groups) {
        const std::string who = ranks_on(group.ranks, group.nodes);
        const bool is_one = group.ranks.size() == 1;
        if (group.otherwise.empty()) {
            text += formatted("{} {} what {} began with\n", who, is_one ? "has" : "have",
                              is_one ? "it" : "they");
            continue;
        }
        text += who + ":\n";
        for (const std::string& sentence : group.otherwise) {
            text += formatted("  {}\n", printable(sentence));
        }
    }
    return text;
}

// What could not be seen.
std::string paragraphs(const Explanation& explanation) {
    std::string text;
    for (const std::string& note : not_seen(explanation.silent, explanation.notes)) {
        text += "\n" + note + "\n";
    }
    return text;
}

// What else is to be said of a variable.
std::string note_on(const RankFacts& rank, const std::string& name) {
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
        rows.push_back({variable.name, variable.value, note_on(rank, variable.name)});
    }
    for (const Change& change : rank.changes) {
        if (!change.now && change.name != "CPUs") {
            rows.push_back({change.name, "not set", note_on(rank, change.name)});
        }
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

std::string device_lines(const RankOfNode& rank) {
    const RankFacts& facts = rank.facts;
    std::string text = formatted("  CPUs {}{}\n", or_dash(facts.cpus),
                                 facts.cpus_then.empty() || facts.cpus_then == facts.cpus
                                     ? ""
                                     : formatted("; its task began on {}", facts.cpus_then));
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
            {"otherwise", JsonText::list(group.otherwise)}};
}

JsonText gpu_json(const GpuFacts& gpu) {
    return {{"name", gpu.name},
            {"pci", json_text_or_null(gpu.pci)},
            {"file", json_text_or_null(gpu.file)},
            {"model", json_text_or_null(gpu.model)}};
}

JsonText rank_of_node_json(const RankOfNode& rank) {
    const RankFacts& facts = rank.facts;
    return {{"node", rank.node},
            {"facts", JsonText{{"rank", rank.rank},
                               {"local_rank", facts.local_rank},
                               {"task", facts.task},
                               {"pid", rank.pid},
                               {"command", rank.command},
                               {"launchers", JsonText::list(facts.launchers)},
                               {"cpus", json_text_or_null(facts.cpus)},
                               {"cpus_then", json_text_or_null(facts.cpus_then)},
                               {"gpus", JsonText::list(rank.gpus, gpu_json)},
                               {"open_gpus", JsonText::list(facts.open_gpus)},
                               {"variables", JsonText::list(facts.variables, to_json<Variable>)},
                               {"changes", JsonText::list(facts.changes, to_json<Change>)},
                               {"hidden", facts.is_hidden}}}};
}

}  // namespace

std::string explanation_text(const std::string& step, const Explanation& explanation, bool colour) {
    std::string text =
        formatted("step {}: {} on {}", step, counted(explanation.ranks.size(), "rank"),
                  counted(explanation.nodes, "node"));
    if (explanation.ranks.empty()) {
        text += "\n\nno rank was seen\n";
    } else {
        text += explanation.spec.empty() ? ", which distgpu did not prepare"
                                         : ", prepared by --distgpu=" + printable(explanation.spec);
        text += "\n\n" + sentences(explanation) + "\n" + group_table(explanation, colour);
    }
    return text + paragraphs(explanation);
}

std::string explanation_json(const std::string& step, const Explanation& explanation,
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

std::string rank_text(const Explanation& explanation, const RankOfNode& rank, bool colour) {
    const RankFacts& facts = rank.facts;
    std::string text = formatted("rank {} on {}", rank.rank, rank.node);
    if (facts.local_rank) text += formatted(", local rank {}", *facts.local_rank);
    if (facts.task) text += formatted(", task {}", *facts.task);
    text += formatted(": process {} {}\n", rank.pid, printable(rank.command));
    for (const std::string& launcher : facts.launchers) {
        text += formatted("  started by {}\n", printable(launcher));
    }
    return text + device_lines(rank) + "\n" + variable_table(facts, colour) +
           paragraphs(explanation);
}

namespace {

struct Arguments {
    std::string step;
    std::optional<std::uint32_t> rank;
    std::string format = "table";
    bool node = false;
};

ExitCode explain_for_others(const Arguments& arguments) {
    const ProcessEnvironment environment;
    const std::string node = environment.text("SLURMD_NODENAME");
    const auto facts = explain_here(node, arguments.step, environment);
    if (!facts) return complain(facts.error(), ExitCode::environment);
    return print_or_complain(answer_lines(node, to_json(*facts).line()), ExitCode::done);
}

ExitCode run_explain(const Arguments& arguments) {
    if (arguments.node) return explain_for_others(arguments);
    const auto step = find_running_step(arguments.step, ProcessEnvironment());
    if (!step) return complain(step.error(), ExitCode::environment);
    const auto looks = look_at_all(*step, {"explain", "--node"}, std::chrono::seconds(0));
    if (!looks) return complain(looks.error(), ExitCode::environment);
    const Explanation explanation = explain(looks->nodes, looks->silent);
    const auto rank = std::ranges::find(explanation.ranks, arguments.rank, &RankOfNode::rank);
    if (arguments.rank && rank == explanation.ranks.end()) {
        return complain({formatted("--rank {}", *arguments.rank), "no such rank was seen",
                         formatted("see distgpu explain {}", step->id)},
                        ExitCode::environment);
    }
    const auto ranks = arguments.rank ? std::vector{*rank} : explanation.ranks;
    if (arguments.format == "json") {
        return print_or_complain(explanation_json(step->id, explanation, ranks), ExitCode::done);
    }
    return print_or_complain(arguments.rank
                                 ? rank_text(explanation, *rank, wants_colour())
                                 : explanation_text(step->id, explanation, wants_colour()),
                             ExitCode::done);
}

}  // namespace

Subcommand explain_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "explain",
            .help =
                "Show what each rank of a running step of yours got, and what it changed "
                "since. Looks from a step of its own, which overlaps yours.",
            .options = {{.name = "STEP",
                         .target = &arguments->step,
                         .help = "JOB or JOB.STEP, as squeue --me --steps lists them",
                         .required = true},
                        {.name = "--rank",
                         .target = &arguments->rank,
                         .help = "All of this rank",
                         .type = "N"},
                        format_option(arguments->format),
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "What the overlapping step runs on each node"}},
            .run = [arguments] { return run_explain(*arguments); }};
}

}  // namespace distgpu
