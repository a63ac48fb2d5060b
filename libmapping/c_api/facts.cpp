#include "c_api/facts.h"

#include "base/format.h"
#include "c_api/objects.h"
#include "c_api/sized.h"
#include "c_api/text.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::c_api {
namespace {

// The number of CPUs that a node may have, so that no sum of such numbers overflows.
std::optional<Error> too_large(const distgpu_facts& facts) {
    const std::array<std::pair<const char*, std::uint32_t>, 3> fields{
        {{"gpus", facts.gpus}, {"cpus", facts.cpus}, {"cpus_per_task", facts.cpus_per_task}}};
    for (const auto& [name, value] : fields) {
        if (value > CpuSet::cpu_limit) {
            return Error{formatted("facts.{} {}", name, value),
                         formatted("more than {}", CpuSet::cpu_limit),
                         "give the number of one node"};
        }
    }
    return std::nullopt;
}

Result<std::vector<CpuSet>> read_masks(const distgpu_facts& facts, std::uint32_t tasks) {
    const std::vector<std::string> lists = texts(facts.cpu_masks);
    if (!lists.empty() && lists.size() != tasks) {
        return Error{"facts.cpu_masks",
                     formatted("{} masks on a node with {} tasks", lists.size(), tasks),
                     "give one for each task"};
    }
    std::vector<CpuSet> masks;
    for (const std::string& list : lists) {
        auto mask = CpuSet::parse(list);
        if (!mask || mask->empty()) {
            return Error{formatted("facts.cpu_masks[{}] '{}'", masks.size(), list),
                         "not a list of CPUs", "write it like 0-3,8"};
        }
        masks.push_back(*std::move(mask));
    }
    return masks;
}

// Each one the topology's, and once.
Result<std::vector<std::uint32_t>> read_gpus(const distgpu_facts& facts) {
    std::vector<std::uint32_t> gpus;
    if (facts.gpu_indices == nullptr) return gpus;
    const std::uint32_t present = distgpu_topology_gpu_count(facts.topology);
    for (const std::uint32_t gpu : std::span(facts.gpu_indices, facts.gpus)) {
        const auto object = [&] { return formatted("facts.gpu_indices[{}] {}", gpus.size(), gpu); };
        if (gpu >= present) {
            return Error{object(), formatted("the topology has {} GPUs", present),
                         "number them from 0 in its order"};
        }
        if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) {
            return Error{object(), "given twice", "give each GPU of the step once"};
        }
        gpus.push_back(gpu);
    }
    return gpus;
}

Result<GpuNames> read_gpu_names(const distgpu_facts& facts,
                                const std::vector<std::uint32_t>& gpus) {
    GpuNames names{texts(facts.gpu_names), texts(facts.gpu_variables), {}};
    if (facts.gpu_names == nullptr) {
        for (const std::uint32_t gpu : gpus) names.names.push_back(std::to_string(gpu));
    }
    if (names.names.size() != gpus.size()) {
        return Error{"facts.gpu_names",
                     formatted("{} names for {} GPUs", names.names.size(), gpus.size()),
                     "give one for each of gpu_indices"};
    }
    return names;
}

RendezvousFacts rendezvous_facts(const distgpu_facts& facts) {
    RendezvousFacts result;
    result.step = {facts.job_id, facts.step_id, facts.restart_count};
    result.rank0_address = text_or_empty(facts.rank0_address);
    result.exported_address = optional_text(facts.master_addr);
    result.exported_port = optional_text(facts.master_port);
    result.reserved_ports = optional_text(facts.reserved_ports);
    return result;
}

Result<NodeFacts> node_facts(const distgpu_facts& facts, std::uint32_t tasks) {
    if (auto error = too_large(facts)) return *std::move(error);
    auto masks = read_masks(facts, tasks);
    if (!masks) return masks.error();
    auto gpus = read_gpus(facts);
    if (!gpus) return gpus.error();
    auto names = read_gpu_names(facts, *gpus);
    if (!names) return names.error();
    NodeFacts node;
    node.gpus = facts.gpus;
    node.cpus = std::max(facts.cpus, 1U);
    node.cpus_per_task = facts.cpus_per_task;
    node.address = text_or_empty(facts.node_address);
    node.interface = text_or_empty(facts.node_interface);
    node.exported = texts(facts.exported);
    if (facts.topology != nullptr) node.topology = &facts.topology->value;
    node.share.masks = *std::move(masks);
    node.share.cpus_per_task = facts.cpus_per_task;
    node.share.gpus = *std::move(gpus);
    node.gpu_names = *std::move(names);
    node.confined = facts.confined != 0;
    node.user_bound = facts.user_bound != 0;
    return node;
}

}  // namespace

Result<PlanFacts> read_facts(const distgpu_facts* facts, std::uint32_t tasks) {
    auto known = facts == nullptr ? distgpu_facts{} : read_sized("distgpu_facts", facts);
    if (!known) return known.error();
    return node_facts(*known, tasks).transform([&](NodeFacts node) {
        return PlanFacts{rendezvous_facts(*known), std::move(node)};
    });
}

}  // namespace distgpu::c_api
