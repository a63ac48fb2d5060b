// How a run ends.
#pragma once

#include "results.h"

#include <functional>

namespace distgpu::scaling {

enum class ExitCode {
    done = 0,
    check_failed = 1,  // below a threshold, or worse than the run compared with
    usage = 2,
    environment = 3,  // it is not what is needed, or failed
    time_out = 4,
    wrong_data = 5,
    skipped = 77,  // nothing was measured that a check applies to
};

// Before its end.
struct Ending {
    ExitCode code = ExitCode::environment;
    Failure failure;
};

// Ends the process; called from any thread.
using End = std::function<void(const Ending&)>;

}  // namespace distgpu::scaling
