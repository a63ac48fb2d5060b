// Megatron-LM and Megatron Core: env://, and two further stores on the ports after
// MASTER_PORT (megatron/core, 0.16). Without RANK and WORLD_SIZE it takes every
// process for the only one.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {

const Framework megatron{
    .mode = "megatron",
    .summary = "Megatron-LM and Megatron Core, one process per task",
    .one_gpu_per_task = true,
    .ports = 3,
    .sets = contract::env_rendezvous,
    .unsets = contract::env_rendezvous_leftovers,
};

}  // namespace distgpu
