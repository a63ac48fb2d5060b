// What nodes, Slurm, the kernel and the tools that read stacks tell of a running step.
#include "explain/explanation.h"
#include "inspect/file_locks.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/sample_all_nodes.h"
#include "inspect/sockets.h"
#include "inspect/stack_tools.h"
#include "inspect/step_processes.h"
#include "slurm/job_state.h"
#include "slurm/running_step.h"
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
    const Explanation explanation = explain({look, look}, {"silent"}, 4);
    const std::size_t grouped = std::accumulate(
        explanation.groups.begin(), explanation.groups.end(), std::size_t{0},
        [](std::size_t sum, const ExplainedGroup& group) { return sum + group.ranks.size(); });
    require(grouped == explanation.ranks.size(), "a rank is in one group");
    const std::string words = explanation_text("5.0", explanation, false);
    require(words.find('\x1b') == std::string::npos, "no terminal is steered");
    require(!explanation_json({.step = "5.0"}, explanation, explanation.ranks).empty(),
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
    NodeSample both = *look;
    prepend_moments(*look, both);
    require(read_node_sample(to_json(both).line()) == both, "two looks are one of more moments");
    static_cast<void>(diagnose({both}, {}, 4));
    const Diagnosis diagnosis = diagnose({*look, *look}, {"silent"}, 4);
    const std::size_t grouped = std::accumulate(
        diagnosis.groups.begin(), diagnosis.groups.end(), std::size_t{0},
        [](std::size_t sum, const RankGroup& group) { return sum + group.ranks.size(); });
    require(grouped <= 2 * look->processes.size(), "a rank is in one group");
    require(std::ranges::is_sorted(diagnosis.accused), "ranks are accused in their order");
    require(diagnosis.findings.empty() || grouped > 0, "what is found is of ranks that were seen");
    require(!diagnosis_text("5.0", diagnosis, false).empty(), "a diagnosis has words");
    const std::string page = diagnosis_page({.step = "5.0"}, diagnosis);
    require(std::all_of(page.begin(), page.end(),
                        [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }) &&
                page.find("<script") == std::string::npos,
            "what a page says is text");
    require(!diagnosis_json({.step = "5.0"}, diagnosis).empty(), "a diagnosis has JSON");
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
    if (const auto python = parse_py_spy(text, 1)) check(python->stack);
    const Stack native = parse_backtrace(text);
    check(native);
    for (const Frame& frame : native) require(!frame.function.empty(), "a frame has a name");
    for (const GpuLoad& busy : parse_gpu_load(text, {"a", "0000:06:00.0"})) {
        require(!busy || *busy <= 100, "nothing is busier than all the time");
    }
    static_cast<void>(parse_stat(text));
    for (const auto& [inode, socket] : parse_tcp_answer(text).connections) {
        require_line(socket.connection.peer);
    }
    static_cast<void>(lock_holders(text, {8, 1, 4711}));
    static_cast<void>(parse_net_dev(text));
    static_cast<void>(parse_process_io(text));
    for (const StepProcess& process : parse_listpids("5.0", text)) {
        require(process.pid > 0, "a process has a number");
    }
    for (const StepPart& part : parse_steps_json(text)) {
        require(part.nodes.size() > 0, "a step has nodes");
    }
    for (const char* const wanted : {"5", "5.0", "5.0+1", "4_3"}) {
        const auto name = StepName::parse(wanted);
        const auto step = choose_step(wanted, *name, name->job, parse_steps(text));
        if (!step) require_line(step.error().message());
        if (!step || !*step) continue;
        require(!(*step)->parts.empty(), "a step has parts");
        std::uint64_t tasks = 0;
        for (const StepPart& part : (*step)->parts) {
            require(part.nodes.size() > 0, "a step has nodes");
            require(part.numeric_id() == part.id, "a step is of its job");
            tasks += part.tasks;
        }
        require(tasks == (*step)->tasks, "a step has the tasks of its parts");
    }
    for (const Job& job : parse_jobs(text)) {
        require_line(state_sentence(job, parse_sacct(text)));
        require(job.components.size() <= 128, "a job has few components");
    }
    for (const AccountedStep& step : parse_sacct(text)) {
        if (const auto ended = find_ended({step}, step.id)) {
            require_line(ended_sentence("step", *ended));
        }
    }
    const auto name = StepName::parse(text);
    if (name) require_line(name->job + name->component + name->step + ".");
}

}  // namespace distgpu
