// What nodes, Slurm, the kernel and the tools that read stacks tell of a running step.
#include "explain/explanation.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/sample_all_nodes.h"
#include "inspect/stack.h"
#include "inspect/step_processes.h"
#include "slurm/slurm_queries.h"
#include "targets.h"
#include "why/diagnosis.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace distgpu {

// What srun prints of the nodes' answers and of its own.
void try_node_answers(std::string_view text) {
    const Answers whole = read_answers(text);
    require(whole.other_lines.size() <= 4200, "of other lines a little is kept");
    for (const auto& [node, answer] : whole.complete) {
        require(answer.size() <= text.size(), "an answer is what was said");
    }
    // A text without the mark that answers begin with, and without a break, is anybody's.
    if (text.empty() || text.find_first_of("\x1e\n") != std::string_view::npos) return;
    const Answers answers = read_answers("srun: said\n" + answer_lines("n1", text) +
                                         "srun: said\n" + answer_lines("n2", text));
    const auto& complete = answers.complete;
    require(complete.size() == 2 && complete.at("n1") == text && complete.at("n2") == text,
            "an answer is put together as it was taken apart");
    require(answers.other_lines == "srun: said\nsrun: said\n", "other lines are others");
}

namespace {

void explain_twice(const NodeSample& look) {
    const Explanation explanation = explain({look, look}, {"silent"});
    const std::size_t grouped = std::accumulate(
        explanation.groups.begin(), explanation.groups.end(), std::size_t{0},
        [](std::size_t sum, const ExplainedGroup& group) { return sum + group.ranks.size(); });
    require(grouped == explanation.ranks.size(), "a rank is in one group");
    const std::string words = explanation_text("5.0", explanation, false);
    require(words.find('\x1b') == std::string::npos, "no terminal is steered");
    require(!explanation_json("5.0", explanation, explanation.ranks).empty(),
            "an explanation has JSON");
    for (const ExplainedRank& rank : explanation.ranks) {
        require(rank_text(explanation, rank, false).find('\x1b') == std::string::npos,
                "a rank's text steers no terminal");
    }
}

}  // namespace

// What a node tells of a step's processes, the diagnosis that `distgpu why` makes of it, and the
// explanation that `distgpu explain` makes.
void try_node_look(std::string_view text) {
    const auto look = read_node_sample(text);
    if (!look) return;
    const std::string line = to_json(*look).line();
    require(line.find('\n') == std::string::npos, "a look is one line");
    require(read_node_sample(line) == look, "a look is read back as it was written");
    const Diagnosis diagnosis = diagnose({*look, *look}, {"silent"}, 4);
    const std::size_t grouped = std::accumulate(
        diagnosis.groups.begin(), diagnosis.groups.end(), std::size_t{0},
        [](std::size_t sum, const RankGroup& group) { return sum + group.ranks.size(); });
    require(grouped % 2 == 0 && grouped <= 2 * look->processes.size(),
            "a rank is in one group, and the same on nodes that tell the same");
    require(diagnosis.findings.empty() || grouped > 0, "what is found is of ranks that were seen");
    require(!diagnosis_text("5.0", diagnosis, false).empty(), "a diagnosis has words");
    const std::string page = diagnosis_page("5.0", diagnosis);
    require(std::all_of(page.begin(), page.end(),
                        [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }) &&
                page.find("<script") == std::string::npos,
            "what a page says is text");
    require(!diagnosis_json("5.0", diagnosis).empty(), "a diagnosis has JSON");
    explain_twice(*look);
}

namespace {

void check(const Stack& stack) {
    require(stack.size() <= 200, "a stack has an end");
    for (const Frame& frame : stack) {
        if (!frame.function.empty()) require_line(frame.function);
        require(frame.function.size() <= 300 && frame.file.size() <= 300, "names are short");
        if (!to_text(frame).empty()) require_line(to_text(frame));
    }
    const CallSite site = call_site_of(stack);
    require(site.text.size() <= 1000, "a place is told in short");
    if (!site.text.empty()) require_line(site.text);
}

}  // namespace

// What Slurm, the kernel and the tools that read stacks print of a step and of its processes.
void try_process_text(std::string_view text) {
    if (const auto stack = parse_py_spy(text, 1)) check(*stack);
    const Stack native = parse_backtrace(text);
    check(native);
    for (const Frame& frame : native) require(!frame.function.empty(), "a frame has a name");
    for (const GpuLoad& busy : parse_gpu_load(text, {"a", "0000:06:00.0"})) {
        require(!busy || *busy <= 100, "nothing is busier than all the time");
    }
    static_cast<void>(parse_stat(text));
    for (const auto& [inode, connection] : parse_tcp(text)) require_line(connection.peer);
    static_cast<void>(parse_net_dev(text));
    static_cast<void>(parse_process_io(text));
    for (const StepProcess& process : parse_listpids("5.0", text)) {
        require(process.pid > 0, "a process has a number");
    }
    for (const RunningStep& step : parse_steps_json(text)) {
        require(step.nodes.size() > 0, "a step has nodes");
    }
    for (const char* const wanted : {"5", "5.0", "4_3"}) {
        const auto step = choose_step(wanted, parse_steps(text));
        if (!step) continue;
        require(step->nodes.size() > 0, "a step has nodes");
        require(step->numeric_id() == step->id, "a step is of its job");
    }
}

}  // namespace distgpu
