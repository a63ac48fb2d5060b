#include "mapping/topology/topology.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu {
std::vector<std::vector<PortVerdict>> port_verdicts(const NodeTopology& topology) {
    using State = HcaPort::State;
    std::vector<HcaPort> all;
    for (const Hca& hca : topology.hcas) all.insert(all.end(), hca.ports.begin(), hca.ports.end());
    // An XML may not say the state of any port: then all of them count.
    const bool states_known = std::any_of(
        all.begin(), all.end(), [](const HcaPort& port) { return port.state != State::unknown; });
    if (states_known) {
        std::erase_if(all, [](const HcaPort& port) { return port.state != State::active; });
    }
    double fastest = 0;
    for (const HcaPort& port : all) fastest = std::max(fastest, port.gbps);
    const auto is_slow = [&](const HcaPort& port) {
        return port.gbps > 0 && port.gbps * 2 < fastest;
    };
    const bool infiniband = std::any_of(all.begin(), all.end(), [&](const HcaPort& port) {
        return !is_slow(port) && port.link == HcaPort::Link::infiniband;
    });
    const auto verdict = [&](const HcaPort& port) -> PortVerdict {
        if (states_known && port.state != State::active) {
            return {false, port.state == State::down ? "down" : "state not known"};
        }
        if (is_slow(port)) return {false, formatted("{} Gb/s beside {} Gb/s", port.gbps, fastest)};
        if (infiniband && port.link == HcaPort::Link::ethernet) {
            return {false, "Ethernet beside InfiniBand"};
        }
        return {true, {}};
    };
    std::vector<std::vector<PortVerdict>> verdicts;
    for (const Hca& hca : topology.hcas) {
        auto& of_hca = verdicts.emplace_back();
        for (const HcaPort& port : hca.ports) of_hca.push_back(verdict(port));
    }
    return verdicts;
}

}  // namespace distgpu
