// Why the tasks of this node cannot be prepared.
#pragma once

#include "base/result.h"

namespace distgpu {

struct Failure {
    // Who tells the user, so that it is told once.
    enum class Teller { this_node, first_node, srun };

    Error error;
    Teller teller = Teller::first_node;
};

}  // namespace distgpu
