// Why the tasks of this node cannot start.
#pragma once

#include "base/result.h"

namespace distgpu {

struct Failure {
    Error error;
    // The user was told, and the tasks of every node end by themselves: srun found it on their
    // behalf, or the check of the step did.
    bool known_to_all = false;
};

}  // namespace distgpu
