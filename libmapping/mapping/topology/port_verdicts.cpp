#include "mapping/topology/port_verdicts.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu {
namespace {

using State = HcaPort::State;

template <class Predicate>
bool any_port(const NodeTopology& topology, Predicate&& predicate) {
    return std::any_of(topology.hcas.begin(), topology.hcas.end(), [&](const Hca& hca) {
        return std::any_of(hca.ports.begin(), hca.ports.end(), predicate);
    });
}

// An XML may not say the state of any port: then all of them count.
struct Fabric {
    explicit Fabric(const NodeTopology& topology)
        : states_known(any_port(topology,
                                [](const HcaPort& port) { return port.state != State::unknown; })) {
        for (const Hca& hca : topology.hcas) {
            for (const HcaPort& port : hca.ports) {
                if (is_active(port)) fastest = std::max(fastest, port.gbps);
            }
        }
        infiniband = any_port(topology, [this](const HcaPort& port) {
            return is_active(port) && !is_slow(port) && port.link == HcaPort::Link::infiniband;
        });
    }

    bool is_active(const HcaPort& port) const {
        return port.state == State::active || !states_known;
    }
    bool is_slow(const HcaPort& port) const { return port.gbps > 0 && port.gbps * 2 < fastest; }

    bool states_known;
    double fastest = 0;
    bool infiniband = false;
};

PortVerdict verdict_of(const Fabric& fabric, const HcaPort& port) {
    if (!fabric.is_active(port)) {
        return {false, port.state == State::down ? "down" : "state not known"};
    }
    if (fabric.is_slow(port)) {
        return {false, formatted("{} Gb/s beside {} Gb/s", port.gbps, fabric.fastest)};
    }
    if (fabric.infiniband && port.link == HcaPort::Link::ethernet) {
        return {false, "Ethernet beside InfiniBand"};
    }
    return {true, {}};
}

}  // namespace

std::vector<std::vector<PortVerdict>> port_verdicts(const NodeTopology& topology) {
    const Fabric fabric(topology);
    std::vector<std::vector<PortVerdict>> verdicts;
    for (const Hca& hca : topology.hcas) {
        auto& of_hca = verdicts.emplace_back();
        for (const HcaPort& port : hca.ports) of_hca.push_back(verdict_of(fabric, port));
    }
    return verdicts;
}

}  // namespace distgpu
