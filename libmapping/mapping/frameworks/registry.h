// The list of frameworks, in the order of the help text. Adding one: its file here
// and its row below.
#pragma once

#include "mapping/frameworks/framework.h"

// One row a framework: the name of its record, of its file and of its mode.
#define DISTGPU_FRAMEWORKS(ROW) \
    ROW(pytorch)                \
    ROW(torchrun)               \
    ROW(lightning)              \
    ROW(accelerate)             \
    ROW(deepspeed)              \
    ROW(megatron)               \
    ROW(composer)               \
    ROW(ompi)                   \
    ROW(horovod)                \
    ROW(tensorflow)             \
    ROW(jax)                    \
    ROW(ray)                    \
    ROW(vllm)                   \
    ROW(sglang)

namespace distgpu {

#define DISTGPU_DECLARE(name) extern const Framework name;
DISTGPU_FRAMEWORKS(DISTGPU_DECLARE)
#undef DISTGPU_DECLARE

}  // namespace distgpu
