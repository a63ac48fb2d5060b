#include "check/gpu_memory.h"

#include "base/format.h"
#include "base/values.h"
#include "check/check_list.h"
#include "node/discovery/nvml.h"
#include "node/gpu_ownership.h"

namespace distgpu {
namespace {

std::optional<Finding> in_use(std::uint32_t index, const Gpu& gpu,
                              const discovery::GpuMemory& memory) {
    constexpr std::uint64_t tenth = 10;
    const std::uint64_t used = memory.total - memory.free;
    if (used <= memory.total / tenth) return std::nullopt;
    const auto gibibytes = [](std::uint64_t bytes) {
        constexpr double gibi = 1U << 30U;
        return static_cast<double>(bytes) / gibi;
    };
    return Finding{Finding::Weight::fatal,
                   {formatted("GPU {} ({})", index, gpu.pci),
                    formatted("{:.1f} of {:.1f} GiB of its memory are in use before the program "
                              "starts",
                              gibibytes(used), gibibytes(memory.total)),
                    "see with nvidia-smi which process of an earlier job is still there"}};
}

}  // namespace

Findings check_gpu_memory(const Environment& environment, const NodeTopology& topology,
                          const std::string& library) {
    if (gpu_owner(environment) == GpuOwner::jobs) return {};
    const discovery::Nvml nvml(library);
    Findings findings;
    const std::string list = visible_gpus(environment);
    for (const std::string_view name : comma_items(list)) {
        const auto index = number_below(name, topology.gpus.size());
        if (!index) continue;
        const Gpu& gpu = topology.gpus[*index];
        const auto memory = nvml.memory(gpu.pci);
        if (!memory) continue;
        if (auto finding = in_use(*index, gpu, *memory)) findings.push_back(*std::move(finding));
    }
    return findings;
}

const NamedCheck memory_check{
    "memory",
    "No other process holds the memory of the task's GPUs, as NVIDIA's library tells it.",
    [](const CheckFacts& facts) {
        return facts.own->node.topology != nullptr && !visible_gpus(*facts.environment).empty();
    },
    [](const CheckFacts& facts) {
        return CheckResult{check_gpu_memory(*facts.environment, *facts.own->node.topology)};
    },
};

}  // namespace distgpu
