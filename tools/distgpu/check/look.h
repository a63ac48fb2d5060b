// All that one task can find out by itself.
#pragma once

#include "base/environment.h"
#include "base/io/tcp/deadline.h"
#include "check/report.h"
#include "task/own_task.h"

#include <memory>

namespace distgpu {

// What takes longer than until the deadline is a finding too, and goes on in a thread of its own.
Report look(const Environment& environment, const std::shared_ptr<const OwnTask>& own,
            Deadline deadline);

}  // namespace distgpu
