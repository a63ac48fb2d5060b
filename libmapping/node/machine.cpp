#include "node/machine.h"

#include "base/format.h"
#include "base/io/file_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

// The number with which `text` begins: of "400 Gb/sec (4X NDR)" 400; of "-1" and "inf" none.
template <class Number>
std::optional<Number> leading_number(std::string_view text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    Number number{};
    const auto [_, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    return number;
}

HcaPort::State verbs_state(const std::optional<std::string>& text) {
    if (!text) return HcaPort::State::unknown;
    return text->starts_with("4:") ? HcaPort::State::active : HcaPort::State::down;
}

HcaPort::Link verbs_link(const std::optional<std::string>& text) {
    if (text == "InfiniBand") return HcaPort::Link::infiniband;
    if (text == "Ethernet") return HcaPort::Link::ethernet;
    return HcaPort::Link::unknown;  // EFA: "Unspecified"
}

std::vector<HcaPort> verbs_ports(const std::string& device) {
    std::vector<HcaPort> ports;
    const std::string folder = device + "/ports";
    for (const std::string& name : names_in(folder)) {
        const auto number = leading_number<std::uint8_t>(name);
        if (!number) continue;
        const std::string port = formatted("{}/{}/", folder, name);
        const double rate =
            leading_number<double>(read_trimmed(port + "rate").value_or("")).value_or(0);
        ports.push_back({*number, verbs_state(read_trimmed(port + "state")),
                         verbs_link(read_trimmed(port + "link_layer")), rate});
    }
    std::sort(ports.begin(), ports.end(),
              [](const HcaPort& left, const HcaPort& right) { return left.number < right.number; });
    return ports;
}

// A Slingshot NIC is an Ethernet interface; linux/if_link.h names its states, ARPHRD_ETHER is 1.
std::vector<HcaPort> interface_port(const std::string& interface) {
    const auto state = read_trimmed(interface + "/operstate");
    if (!state) return {};
    HcaPort port;
    if (*state != "unknown") {
        port.state = *state == "up" ? HcaPort::State::active : HcaPort::State::down;
    }
    if (read_trimmed(interface + "/type") == "1") port.link = HcaPort::Link::ethernet;
    // In Mb/s; -1 where the link is down.
    const std::string speed = read_trimmed(interface + "/speed").value_or("");
    port.gbps = leading_number<double>(speed).value_or(0) / 1000;
    return {port};
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return {};
    return name.data();
}

std::string short_host_name() {
    const std::string name = host_name();
    return name.substr(0, name.find('.'));
}

Result<MachineIdentity> machine_identity(const MachineRoots& roots) {
    const std::string path = roots.proc + "/sys/kernel/random/boot_id";
    const auto boot_id = read_trimmed(path);
    if (!boot_id || boot_id->empty()) {
        return Error{path, "cannot be read", "mount proc there"};
    }
    return MachineIdentity{*boot_id, names_in(roots.sys + "/bus/pci/devices")};
}

void read_ports(NodeTopology& topology, const MachineRoots& roots) {
    for (Hca& hca : topology.hcas) {
        hca.ports = hca.kind == HcaKind::slingshot
                        ? interface_port(formatted("{}/class/net/{}", roots.sys, hca.name))
                        : verbs_ports(formatted("{}/class/infiniband/{}", roots.sys, hca.name));
    }
}

}  // namespace distgpu
