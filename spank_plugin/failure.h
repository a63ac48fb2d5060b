// Why the tasks of this node cannot start.
#pragma once

#include "base/result.h"

namespace distgpu {

struct Failure {
    Error error;
    bool told_by_srun = false;  // which found it on every node's behalf
};

}  // namespace distgpu
