#include "mapping/binding/gpu_policies.h"

#include "mapping/binding/binding.h"

#include <array>

namespace distgpu {
namespace gpu_policy {
namespace {

const std::vector<std::uint32_t>& all_in_order(const NodeBinding& node, std::size_t /*task*/) {
    return node.gpu_order;
}

const std::vector<std::uint32_t>& own(const NodeBinding& node, std::size_t task) {
    return node.tasks[task].gpus;
}

}  // namespace

const GpuPolicy near{.word = "near", .seen_by = all_in_order};
const GpuPolicy isolate{.word = "isolate", .seen_by = own, .own_alone = true};
const GpuPolicy keep{.word = "keep"};

}  // namespace gpu_policy

std::span<const GpuPolicy* const> gpu_policies() {
    static constexpr std::array all{&gpu_policy::near, &gpu_policy::isolate, &gpu_policy::keep};
    return all;
}

}  // namespace distgpu
