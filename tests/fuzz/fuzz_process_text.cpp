// What Slurm, the kernel and the tools that read stacks print of a step and of its processes.
#include "inspect/connections.h"
#include "inspect/gpu_load.h"
#include "inspect/process_facts.h"
#include "inspect/ras.h"
#include "inspect/stack.h"
#include "inspect/step_tasks.h"
#include "inspect/traffic.h"
#include "require.h"
#include "slurm/running_step.h"
#include "target.h"

#include <string>

namespace distgpu {
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

void try_text(std::string_view text) {
    if (const auto stack = parse_py_spy(text, 1)) check(*stack);
    const Stack native = parse_backtrace(text);
    check(native);
    for (const Frame& frame : native) require(!frame.function.empty(), "a frame has a name");
    for (const Busy& busy : parse_gpu_load(text, {"a", "0000:06:00.0"})) {
        require(!busy || *busy <= 100, "nothing is busier than all the time");
    }
    if (const auto stat = parse_stat(text)) require(stat->cpu >= 0, "time goes forward");
    for (const auto& [inode, connection] : parse_tcp(text)) require_line(connection.peer);
    static_cast<void>(parse_net_dev(text));
    static_cast<void>(parse_process_io(text));
    if (const auto ras = parse_ras_address(text)) {
        require(ras->port > 0, "a process listens on a port");
        require_line(ras->host);
    }
    for (const StepProcess& process : parse_listpids("5.0", text)) {
        require(process.pid > 0, "a process has a number");
    }
    for (const RunningStep& step : running_steps_of_json(text)) {
        require(step.nodes.size() > 0, "a step has nodes");
    }
    for (const char* const wanted : {"5", "5.0", "4_3"}) {
        const auto step = choose_step(wanted, running_steps(text));
        if (!step) continue;
        require(step->nodes.size() > 0, "a step has nodes");
        require(step->numbered() == step->id, "a step is of its job");
    }
}

}  // namespace distgpu
