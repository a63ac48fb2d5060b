// Has `distgpu check --gate` run for a task, just before its program would start, and waits for the
// verdict, which is that of the whole step.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "node/host_helper.h"

#include <chrono>
#include <string>

namespace distgpu {

enum class StepVerdict {
    ready,
    not_ready,   // as all ranks know
    incomplete,  // ranks are missing, which may not know
};

struct StepCheck {
    std::string command;  // the path of distgpu
    Linker linker = Linker::dropped;
    // For the ranks that have not reported yet; the network is then tried, and all are asked,
    // within another 15 s.
    std::chrono::seconds patience{10};
};

// The check has `own` as its environment and judges `task`, the variables that the program will
// have. What the check says goes to this process's standard error; of what is wrong the user was
// told. Errors: the command could not be started, or ended otherwise.
Result<StepVerdict> run_step_check(HostHelper& helper, const StepCheck& check,
                                   const Environment& own, const Environment& task);

}  // namespace distgpu
