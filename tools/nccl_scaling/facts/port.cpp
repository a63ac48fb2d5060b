#include "facts/port.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace distgpu::scaling {
namespace {

struct Counter {
    const char* file;
    const char* noun;
};
constexpr std::array counters{
    Counter{"symbol_error", "symbol error"},
    Counter{"link_error_recovery", "recovered link error"},
    Counter{"link_downed", "link interruption"},
    Counter{"port_rcv_errors", "receive error"},
    Counter{"port_rcv_remote_physical_errors", "remote physical error"},
    Counter{"port_xmit_discards", "discarded packet"},
    Counter{"local_link_integrity_errors", "link integrity error"},
    Counter{"excessive_buffer_overrun_errors", "buffer overrun"},
};

struct Address {
    std::string device;
    std::uint32_t number = 1;
};

Address address_of(const std::string& port) {
    const auto colon = port.find(':');
    if (colon == std::string::npos) return {port};
    return {port.substr(0, colon), whole_number(port.substr(colon + 1)).value_or(0)};
}

HcaPort state_of(const Address& address, const MachineRoots& roots) {
    NodeTopology machine;
    machine.hcas.emplace_back().name = address.device;
    read_ports(machine, roots);
    const auto& ports = machine.hcas.front().ports;
    const auto found = std::find_if(ports.begin(), ports.end(), [&](const HcaPort& port) {
        return port.number == address.number;
    });
    return found == ports.end() ? HcaPort{} : *found;
}

}  // namespace

PortReading read_port(const std::string& port, const MachineRoots& roots) {
    const Address address = address_of(port);
    PortReading reading{state_of(address, roots), {}};
    reading.counters.reserve(counters.size());
    for (const auto& [file, noun] : counters) {
        const auto text = read_trimmed(formatted("{}/class/infiniband/{}/ports/{}/counters/{}",
                                                 roots.sys, address.device, address.number, file));
        reading.counters.push_back(whole_number_64(text.value_or("")).value_or(0));
    }
    return reading;
}

std::vector<std::string> unusual_of_port(const std::string& port, const PortReading& before,
                                         const PortReading& after) {
    std::vector<std::string> unusual;
    if (after.port.state == HcaPort::State::down) unusual.push_back(port + ": its link is down");
    for (std::size_t i = 0; i < counters.size(); ++i) {
        if (after.counters[i] <= before.counters[i]) continue;
        unusual.push_back(
            formatted("{}: {} during the run", port,
                      counted(after.counters[i] - before.counters[i], counters[i].noun)));
    }
    return unusual;
}

}  // namespace distgpu::scaling
