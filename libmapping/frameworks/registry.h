// The records that registry.cpp lists, one declaration per framework file.
#pragma once

#include <distgpu/framework.h>

namespace distgpu {

extern const Framework pytorch;
extern const Framework torchrun;

}  // namespace distgpu
