// The key watch, in a task's own process just before its program starts: who may look into it, and
// the process that watches the step.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/request/request.h"
#include "node/host_helper.h"

#include <string>
#include <variant>

namespace distgpu {

// Lets every process of the same user look into this one, also once it has become the program:
// Yama keeps the exception with the process and not with its memory, and gives it to no child
// (security/yama/yama_lsm.c of Linux 6.18: the relation hangs on the task_struct, and only its end
// removes it). Where there is no Yama, prctl() refuses, and nothing is to be allowed.
void allow_looks();

struct StepWatch {
    std::string command;  // the path of distgpu
    Linker linker = Linker::dropped;
    Watch watch;
    std::string step;  // "5.0"
};

// Starts `distgpu why STEP --watch`, which ends with this process. It is no child of this process,
// whose program waits for its own alone.
// Errors: there is no such command; it cannot be told when this process ends.
Result<std::monostate> start_step_watch(HostHelper& helper, const StepWatch& watch,
                                        const Environment& environment);

}  // namespace distgpu
