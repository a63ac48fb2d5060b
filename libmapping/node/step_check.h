// Runs `distgpu check --gate` in a task's own process, just before its program would start, and
// waits for the verdict, which is that of the whole step.
#pragma once

#include "base/environment.h"
#include "base/result.h"

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
    int host_root = -1;   // as of ProgramBeside
    bool keeps_linker = false;
    // For the ranks that have not reported yet; the network is then tried within another 10 s.
    std::chrono::seconds patience{10};
};

// With the task's variables, as a rule without the dynamic linker's, which are meant for its
// program. What the check says goes to this process's standard error; of what is wrong the user was
// told. Errors: the command could not be started, or ended otherwise.
Result<StepVerdict> run_step_check(const StepCheck& check, const Environment& environment);

}  // namespace distgpu
