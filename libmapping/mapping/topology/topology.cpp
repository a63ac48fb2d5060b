#include "mapping/topology/topology.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu {
namespace {

// "AMD Instinct MI210", "AMD GPU"; a driver's name of a model may begin with the vendor.
std::string vendor_and_model(const OtherGpu& gpu) {
    const std::string_view vendor = gpu_vendor_names.name_of(gpu.vendor);
    if (gpu.model.starts_with(vendor)) return gpu.model;
    return formatted("{} {}", vendor, gpu.model.empty() ? "GPU" : gpu.model);
}

}  // namespace

std::string left_out_gpus(const NodeTopology& topology) {
    const auto& others = topology.other_gpus;
    if (topology.gpus.empty() || others.empty()) return {};
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < others.size();) {
        const std::string name = vendor_and_model(others[i]);
        std::vector<std::string> addresses;
        for (; i < others.size() && vendor_and_model(others[i]) == name; ++i) {
            addresses.push_back(others[i].pci);
        }
        groups.push_back(formatted("{} x {} ({})", addresses.size(), name, join(addresses, ", ")));
    }
    return formatted("{}, which {} left out: ranks use the {} GPUs", join(groups, ", "),
                     others.size() == 1 ? "is" : "are",
                     gpu_vendor_names.name_of(topology.gpus.front().vendor));
}

std::vector<std::vector<PortEligibility>> port_eligibility(const NodeTopology& topology) {
    using State = HcaPort::State;
    std::vector<HcaPort> all;
    for (const Hca& hca : topology.hcas) all.insert(all.end(), hca.ports.begin(), hca.ports.end());
    // An XML may lack the state of every port: then all of them count.
    const bool has_states = std::any_of(
        all.begin(), all.end(), [](const HcaPort& port) { return port.state != State::unknown; });
    if (has_states) {
        std::erase_if(all, [](const HcaPort& port) { return port.state != State::active; });
    }
    double fastest = 0;
    for (const HcaPort& port : all) fastest = std::max(fastest, port.gbps);
    const auto is_slow = [&](const HcaPort& port) {
        return port.gbps > 0 && port.gbps * 2 < fastest;
    };
    const bool has_infiniband = std::any_of(all.begin(), all.end(), [&](const HcaPort& port) {
        return !is_slow(port) && port.link == HcaPort::Link::infiniband;
    });
    const auto eligibility_of = [&](const HcaPort& port) -> PortEligibility {
        if (has_states && port.state != State::active) {
            return {false, port.state == State::down ? "down" : "state not known"};
        }
        if (is_slow(port)) {
            return {false, formatted("{} Gb/s, the fastest has {} Gb/s", port.gbps, fastest)};
        }
        if (has_infiniband && port.link == HcaPort::Link::ethernet) {
            return {false, "Ethernet on an InfiniBand node"};
        }
        return {true, {}};
    };
    std::vector<std::vector<PortEligibility>> all_ports;
    for (const Hca& hca : topology.hcas) {
        auto& of_hca = all_ports.emplace_back();
        for (const HcaPort& port : hca.ports) of_hca.push_back(eligibility_of(port));
    }
    return all_ports;
}

}  // namespace distgpu
