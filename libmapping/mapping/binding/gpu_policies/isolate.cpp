// Every task sees its own GPUs only.
#include "mapping/binding/binding.h"
#include "mapping/binding/gpu_policies/registry.h"

namespace distgpu::gpu_policy {
namespace {

const std::vector<std::uint32_t>& own(const NodeBinding& node, std::size_t task) {
    return node.tasks[task].gpus;
}

}  // namespace

const GpuPolicy isolate{.word = "isolate", .seen_by = own, .own_alone = true};

}  // namespace distgpu::gpu_policy
