// What to do where a port is in use on which this task's program will listen.
#pragma once

#include "node/own_task.h"

#include <string>

namespace distgpu {

std::string taken_port_remedy(const OwnTask& own);

}  // namespace distgpu
