// PyTorch, one process per task: torch.distributed's env:// rendezvous.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

constexpr std::array variants{Variant{"per-node", &torchrun}};
constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};

}  // namespace

const Framework pytorch{
    .mode = "pytorch",
    .summary = "PyTorch (torch.distributed, DistributedDataParallel), one process per task",
    .keys = keys,
    .variants = variants,
    .one_gpu_per_task = true,
    .sets = contract::env_rendezvous,
    .unsets = contract::env_rendezvous_leftovers,
};

}  // namespace distgpu
