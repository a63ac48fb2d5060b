// Every task sees all GPUs of the step, in an order that makes cuda:LOCAL_RANK near. The order is
// the same for all tasks of the node, so that they agree on device numbers and peers.
#include "mapping/binding/binding.h"
#include "mapping/binding/gpu_policies/registry.h"

namespace distgpu::gpu_policy {
namespace {

const std::vector<std::uint32_t>& all_in_order(const NodeBinding& node, std::size_t /*task*/) {
    return node.gpu_order;
}

}  // namespace

const GpuPolicy near{.word = "near", .seen_by = all_in_order};

}  // namespace distgpu::gpu_policy
