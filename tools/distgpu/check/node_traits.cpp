#include "check/node_traits.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "check/check_list.h"
#include "node/task_environment.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <sys/utsname.h>
#include <utility>

namespace distgpu {
namespace {

// "4 x H100, 2 x A100", in PCI order.
std::string models(const std::vector<Gpu>& gpus) {
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < gpus.size();) {
        const std::size_t first = i;
        while (i < gpus.size() && gpus[i].model == gpus[first].model) ++i;
        const std::string& model = gpus[first].model;
        groups.push_back(formatted("{} x {}", i - first, model.empty() ? "unknown model" : model));
    }
    return groups.empty() ? "none" : join(groups, ", ");
}

std::string ports(const std::vector<Hca>& hcas) {
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

std::string firmware(const std::vector<Hca>& hcas, const MachineRoots& roots) {
    std::set<std::string> versions;
    for (const Hca& hca : hcas) {
        const auto version =
            read_trimmed(formatted("{}/class/infiniband/{}/fw_ver", roots.sys, hca.name));
        if (version) versions.insert(*version);
    }
    return versions.empty() ? "none" : join(versions, ", ");
}

// Of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...", also of the open one's
// "... Open Kernel Module for x86_64  550.54.15  Release Build ...": the first word with a digit
// first.
std::string driver_version(const MachineRoots& roots) {
    const std::string text = read_trimmed(roots.proc + "/driver/nvidia/version").value_or("");
    std::string_view rest = value_after(text, "NVRM version:");
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        if (!word.empty() && word.front() >= '0' && word.front() <= '9') return std::string(word);
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
    return "none";
}

bool is_of_communication(const std::string& name) {
    static constexpr std::array<std::string_view, 3> prefixes{"NCCL_", "GLOO_", "UCX_"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<NodeTrait> device_traits(const NodeTopology* topology, const MachineRoots& roots) {
    if (topology == nullptr) return {};
    return {{"GPUs", models(topology->gpus)},
            {"HCA ports", ports(topology->hcas)},
            {"HCA firmware", firmware(topology->hcas, roots), Finding::Weight::warning}};
}

std::vector<NodeTrait> system_traits(const MachineRoots& roots) {
    utsname system{};
    uname(&system);
    // Rolled out node by node, they differ for days in clusters that train well.
    constexpr auto warning = Finding::Weight::warning;
    return {{"kernel", system.release, warning},
            {"NVIDIA driver", driver_version(roots), warning},
            {"distgpu", DISTGPU_VERSION, warning}};
}

NodeTrait communication_trait(const Environment& environment, const TaskPlan& task) {
    std::set<std::string> texts;
    for (const std::string& name : environment.names()) {
        const bool given = std::any_of(task.set.begin(), task.set.end(),
                                       [&](const auto& set) { return set.first == name; });
        if (given || !is_of_communication(name) || !exported(environment, name)) continue;
        texts.insert(formatted("{}={}", name, excerpt(environment.get(name).value_or(""))));
    }
    return {"NCCL, Gloo and UCX variables", texts.empty() ? "none" : join(texts, " ")};
}

// One rank of a node stands for it.
const NamedCheck nodes_check{
    "nodes",
    "Every node has the kernel, driver, distgpu, GPUs, HCAs, and variables for NCCL, Gloo and UCX "
    "that most nodes of the step have, and their clocks agree.",
    [](const CheckFacts& facts) {
        return facts.own->place.local == LocalRank{0} && facts.own->place.layout.node_count() > 1;
    },
    [](const CheckFacts& facts) {
        CheckResult result;
        result.traits = system_traits();
        const auto devices = device_traits(facts.own->node.topology.get());
        result.traits.insert(result.traits.end(), devices.begin(), devices.end());
        result.traits.push_back(communication_trait(*facts.environment, facts.own->task()));
        // As rank 0 takes it from others, so that its own is the same text.
        constexpr std::size_t longest = 400;
        for (NodeTrait& trait : result.traits) {
            trait.value = printable(trait.value).substr(0, longest);
        }
        return result;
    },
};

}  // namespace distgpu
