// Sends a signal to the ranks of a running step, whatever starts them in their tasks.
#include "base/format.h"
#include "command_line.h"
#include "found_job.h"
#include "inspect/sample_all_nodes.h"
#include "inspect/signal_ranks.h"
#include "node/machine.h"
#include "output.h"

#include <algorithm>
#include <memory>

namespace distgpu {
namespace {

struct Arguments {
    std::string step;
    std::string signal;
    std::string ranks;
    bool dry_run = false;
    bool quiet = false;
    bool node = false;
    std::uint32_t first_task = 1;  // counts from 1, as no option may be 0
};

struct Order {
    Signal signal;
    RankList ranks;
    bool dry_run = false;
};

Result<Order> read_order(const Arguments& arguments) {
    const auto signal = find_signal(arguments.signal);
    if (!signal) {
        return Error{excerpt(arguments.signal),
                     "not a signal that a training can catch and that Slurm sends",
                     "write TERM, INT, HUP, USR1, USR2 or CONT; scancel --signal sends others"};
    }
    if (arguments.ranks.empty()) return Order{*signal, {}, arguments.dry_run};
    const auto ranks = RankList::parse(arguments.ranks);
    if (!ranks) {
        return Error{formatted("--ranks {}", excerpt(arguments.ranks)), "not a list of ranks",
                     "write it as in --ranks 0-3,8"};
    }
    return Order{*signal, *ranks, arguments.dry_run};
}

// What run_signal() starts on each node.
ExitCode signal_this_node(const Arguments& arguments, const Order& order) {
    const ProcessEnvironment environment;
    const std::string node = environment.text("SLURMD_NODENAME");
    const auto result = signal_ranks(node, arguments.step, arguments.first_task - 1, order.signal,
                                     order.ranks, order.dry_run, environment);
    if (!result) return report_error(result.error(), ExitCode::environment);
    return print_result(answer_lines(node, to_json(*result).line()), ExitCode::done);
}

std::vector<std::string> command_for(const StepPart& part, const Arguments& arguments) {
    std::vector<std::string> words{"signal", "--node", "--first-task",
                                   formatted("{}", part.first_task + 1)};
    if (arguments.dry_run) words.emplace_back("--dry-run");
    if (!arguments.ranks.empty()) words.insert(words.end(), {"--ranks", arguments.ranks});
    words.insert(words.end(), {part.numeric_id(), arguments.signal});
    return words;
}

// Of the whole step.
struct Outcome {
    SignalledNode ranks{};  // ascending
    std::vector<std::string> silent{};
    std::vector<std::string> problems{};
};

void append(const std::vector<std::uint32_t>& some, std::vector<std::uint32_t>& all) {
    all.insert(all.end(), some.begin(), some.end());
}

Outcome outcome_of(const std::vector<PartAnswers>& parts) {
    Outcome outcome;
    for (const PartAnswers& part : parts) {
        outcome.silent.insert(outcome.silent.end(), part.silent.begin(), part.silent.end());
        for (const auto& [name, text] : part.texts) {
            const auto node = read_signalled_node(text);
            if (!node) {
                outcome.silent.push_back(name);
                continue;
            }
            append(node->sent, outcome.ranks.sent);
            append(node->without_handler, outcome.ranks.without_handler);
            append(node->ended, outcome.ranks.ended);
            if (!node->problem.empty()) outcome.problems.push_back(node->problem);
        }
    }
    for (auto* ranks :
         {&outcome.ranks.sent, &outcome.ranks.without_handler, &outcome.ranks.ended}) {
        std::ranges::sort(*ranks);
    }
    return outcome;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    return formatted("rank{} {}", ranks.size() == 1 ? "" : "s", number_ranges(ranks));
}

// "ranks 0-2 got SIGUSR2"
std::string sent_text(const Order& order, const std::vector<std::uint32_t>& sent) {
    const std::string_view got = order.dry_run ? "would get" : "got";
    return sent.empty() ? formatted("no rank {} {}", got, order.signal.name)
                        : formatted("{} {} {}", ranks_text(sent), got, order.signal.name);
}

std::string without_handler_text(const Order& order, const std::vector<std::uint32_t>& ranks) {
    const bool is_one = ranks.size() == 1;
    const std::string_view name = order.signal.name;
    if (order.dry_run) {
        return formatted("{} would not get {}: {} no handler for it", ranks_text(ranks), name,
                         is_one ? "it has" : "they have");
    }
    return formatted("not sent to {}: {} no handler for {}, which would end {}", ranks_text(ranks),
                     is_one ? "it has" : "they have", name, is_one ? "it" : "them");
}

ExitCode print_outcome(const RunningStep& step, const Order& order, const Outcome& outcome,
                       bool quiet) {
    const auto& [sent, without_handler, ended, problem] = outcome.ranks;
    std::vector<std::uint32_t> seen = sent;
    append(without_handler, seen);
    append(ended, seen);
    std::ranges::sort(seen);
    const std::vector<std::uint32_t> unseen = order.ranks.without(seen);
    std::vector<std::string> lines;
    if (!quiet) lines.push_back(sent_text(order, sent));
    if (!without_handler.empty()) lines.push_back(without_handler_text(order, without_handler));
    if (!ended.empty()) lines.push_back(formatted("not sent to {}: ended", ranks_text(ended)));
    if (!unseen.empty()) {
        lines.push_back(formatted("not sent to {}: not found", ranks_text(unseen)));
    }
    for (std::string& line : with_silent_nodes(outcome.silent, outcome.problems)) {
        lines.push_back(std::move(line));
    }
    std::string text;
    for (const std::string& line : lines) {
        text += (text.empty() ? formatted("step {}: ", step.id) : "") + line + '\n';
    }
    const bool is_complete = !sent.empty() && without_handler.empty() && unseen.empty() &&
                             outcome.silent.empty() && outcome.problems.empty();
    return print_result(text, is_complete ? ExitCode::done : ExitCode::check_failed);
}

ExitCode run_signal(const Arguments& arguments) {
    const auto order = read_order(arguments);
    if (!order) return report_error(order.error(), ExitCode::usage);
    if (arguments.node) return signal_this_node(arguments, *order);
    const auto step = find_running_step(arguments.step, ProcessEnvironment());
    if (!step) return report_step_error(arguments.step, step.error());
    const auto answers = ask_all_nodes(
        *step, [&](const StepPart& part) { return command_for(part, arguments); },
        std::chrono::seconds(0));
    if (!answers) return report_error(answers.error(), ExitCode::environment);
    return print_outcome(*step, *order, outcome_of(*answers), arguments.quiet);
}

}  // namespace

Subcommand signal_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    Option step = step_option(arguments->step);
    step.required = true;
    step.help = "JOB or JOB.STEP, as in 4711, 4711.0, 4711_3 or 4711+1";
    return {.name = "signal",
            .help =
                "Send a signal to the ranks of your running step, also below a shell or a "
                "launcher, where Slurm's signals do not arrive. Ranks without a handler do not "
                "get it, because it would end them.",
            .options = {std::move(step),
                        {.name = "SIGNAL",
                         .target = &arguments->signal,
                         .help = "TERM, INT, HUP, USR1, USR2 or CONT",
                         .required = true},
                        {.name = "--ranks",
                         .target = &arguments->ranks,
                         .help = "Only to these ranks, as in 0-3,8",
                         .value_name = "LIST"},
                        {.name = "--dry-run",
                         .target = &arguments->dry_run,
                         .help = "Only say which ranks would get it"},
                        {.name = "--quiet",
                         .target = &arguments->quiet,
                         .help = "Print only which ranks do not get it, and why"},
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "Internal: run by the extra step on each node"},
                        {.name = "--first-task",
                         .target = &arguments->first_task,
                         .help = "Internal: the number of the component's first task, from 1",
                         .value_name = "N"}},
            .run = [arguments] { return run_signal(*arguments); }};
}

}  // namespace distgpu
