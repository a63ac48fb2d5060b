// The check of what should be the same on all nodes of a step: reads this node's traits, which
// rank 0 compares (verdict.cpp).
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "check/checks.h"
#include "node/step_variables.h"
#include "node/task_environment.h"

#include <algorithm>
#include <set>
#include <sys/utsname.h>
#include <utility>

namespace distgpu {
namespace {

// "4 x H100, 2 x A100", in PCI order.
std::string gpu_models(const std::vector<Gpu>& gpus) {
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < gpus.size();) {
        const std::size_t first = i;
        while (i < gpus.size() && gpus[i].model == gpus[first].model) ++i;
        const std::string& model = gpus[first].model;
        groups.push_back(formatted("{} x {}", i - first, model.empty() ? "unknown model" : model));
    }
    return groups.empty() ? "none" : join(groups, ", ");
}

std::string port_states(const std::vector<Hca>& hcas) {
    std::vector<std::string> texts;
    for (const Hca& hca : hcas) {
        for (const HcaPort& port : hca.ports) {
            const bool active = port.state == HcaPort::State::active;
            texts.push_back(formatted("{}:{} {}", hca.name, port.number,
                                      active ? formatted("{:g} Gb/s", port.gbps) : "down"));
        }
    }
    return texts.empty() ? "none" : join(texts, ", ");
}

std::string firmware_versions(const std::vector<Hca>& hcas, const MachineRoots& roots) {
    std::set<std::string> versions;
    for (const Hca& hca : hcas) {
        const auto version =
            read_trimmed(formatted("{}/class/infiniband/{}/fw_ver", roots.sys, hca.name));
        if (version) versions.insert(*version);
    }
    return versions.empty() ? "none" : join(versions, ", ");
}

// The first word that begins with a digit in "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 550.54.15  Tue ...", or in the open module's "... Open Kernel Module for x86_64  550.54.15
// Release Build ...".
std::string driver_version(const MachineRoots& roots) {
    const std::string text = read_trimmed(roots.proc + "/driver/nvidia/version").value_or("");
    for (const std::string_view word : words_in(value_after(text, "NVRM version:"))) {
        if (word.front() >= '0' && word.front() <= '9') return std::string(word);
    }
    return "none";
}

}  // namespace

std::vector<NodeTrait> device_traits(const NodeTopology* topology, const MachineRoots& roots) {
    if (topology == nullptr) return {};
    return {{"GPUs", gpu_models(topology->gpus)},
            {"HCA ports", port_states(topology->hcas)},
            {"HCA firmware", firmware_versions(topology->hcas, roots), Finding::Severity::warning}};
}

std::vector<NodeTrait> system_traits(const MachineRoots& roots) {
    utsname system{};
    uname(&system);
    // During a rolling update they differ for days in clusters that train well.
    constexpr auto warning = Finding::Severity::warning;
    return {{"kernel", system.release, warning},
            {"NVIDIA driver", driver_version(roots), warning},
            {"distgpu", DISTGPU_VERSION, warning}};
}

NodeTrait communication_trait(const Environment& environment, const TaskPlan& task) {
    std::set<std::string> texts;
    for (const std::string& name : environment.names()) {
        const bool set_by_distgpu = std::any_of(task.set.begin(), task.set.end(),
                                                [&](const auto& set) { return set.first == name; });
        if (set_by_distgpu || !is_network_setting(name) || !exported(environment, name)) continue;
        texts.insert(formatted("{}={}", name, excerpt(environment.text(name))));
    }
    return {"NCCL, Gloo and UCX variables", texts.empty() ? "none" : join(texts, " ")};
}

// Run by one rank of each node.
const NamedCheck nodes_check{
    "nodes",
    "Every node has the same kernel, driver, distgpu, GPUs, HCAs, and variables for NCCL, Gloo and "
    "UCX as most nodes of the step, and their clocks agree.",
    [](const CheckFacts& facts) {
        return facts.own_task->place.local == LocalRank{0} &&
               facts.own_task->place.layout.node_count() > 1;
    },
    [](const CheckFacts& facts) {
        std::vector<NodeTrait> traits = system_traits();
        const auto devices = device_traits(facts.own_task->node.topology.get());
        traits.insert(traits.end(), devices.begin(), devices.end());
        traits.push_back(communication_trait(*facts.environment, facts.own_task->task()));
        // As decode_report() changes it for others, so that rank 0's own is the same text.
        constexpr std::size_t max_length = 400;
        for (NodeTrait& trait : traits) trait.value = printable(trait.value).substr(0, max_length);
        return CheckResult{.traits = std::move(traits)};
    },
};

}  // namespace distgpu
