// `distgpu explain`: what each rank of a running step got, and what it changed since.
#include "base/format.h"
#include "explain/explain_here.h"
#include "explain/explanation.h"
#include "explain/explanation_output.h"
#include "inspect/answers.h"
#include "inspect/overlapping_step.h"
#include "node/own_task.h"
#include "node/process_environment.h"
#include "output.h"
#include "slurm/running_step.h"
#include "subcommands.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

struct Arguments {
    std::string step;
    std::optional<std::uint32_t> rank;
    std::string format = "table";
    bool node = false;
};

ExitCode explain_for_others(const Arguments& arguments) {
    const ProcessEnvironment environment;
    const std::string node = environment.get("SLURMD_NODENAME").value_or("");
    const auto facts = explain_here(node, arguments.step, environment);
    if (!facts) return complain(facts.error(), ExitCode::environment);
    return print_or_complain(answer_lines(node, to_json(*facts).line()), ExitCode::done);
}

Explanation explanation_of(NodeAnswers answers) {
    std::vector<NodeFactsNow> nodes;
    for (const auto& [node, text] : answers.texts) {
        if (auto facts = read_node_facts_now(text)) {
            nodes.push_back(*std::move(facts));
        } else {
            answers.silent.push_back(node);
        }
    }
    return explain(nodes, answers.silent);
}

std::optional<std::string> text_of(const Arguments& arguments, const std::string& step,
                                   const Explanation& explanation) {
    const bool is_json = arguments.format == "json";
    if (arguments.rank) {
        return is_json ? rank_json(step, explanation, *arguments.rank)
                       : rank_text(explanation, *arguments.rank, wants_colour());
    }
    return is_json ? explanation_json(step, explanation)
                   : explanation_text(step, explanation, wants_colour());
}

ExitCode run_explain(const Arguments& arguments) {
    if (arguments.node) return explain_for_others(arguments);
    const auto step = find_running_step(arguments.step, ProcessEnvironment());
    if (!step) return complain(step.error(), ExitCode::environment);
    auto answers = ask_nodes(*step, {own_command(), "explain", "--node", step->numbered()},
                             std::chrono::seconds(0));
    if (!answers) return complain(answers.error(), ExitCode::environment);
    const auto text = text_of(arguments, step->id, explanation_of(*std::move(answers)));
    if (text) return print_or_complain(*text, ExitCode::done);
    return complain({formatted("--rank {}", *arguments.rank), "no such rank was seen",
                     formatted("see distgpu explain {}", step->id)},
                    ExitCode::environment);
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
                        {.name = "--format",
                         .target = &arguments->format,
                         .help = "table (the default) or json",
                         .type = "FORMAT",
                         .words = {"table", "json"}},
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "What the overlapping step runs on each node"}},
            .run = [arguments] { return run_explain(*arguments); }};
}

}  // namespace distgpu
