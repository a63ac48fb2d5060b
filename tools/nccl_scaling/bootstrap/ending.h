// How a run ends.
#pragma once

#include "base/exit_code.h"
#include "results/results.h"

#include <functional>

namespace distgpu::scaling {

// Before its end.
struct Ending {
    ExitCode code = ExitCode::environment;
    Failure failure;
};

// Ends the process; called from any thread.
using End = std::function<void(const Ending&)>;

}  // namespace distgpu::scaling
