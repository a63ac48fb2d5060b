#include "node/machine.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace distgpu {
namespace {

// 2.5 for "2.5 Gb/sec (1X SDR)", 400 for "400 Gb/sec (4X NDR)"; 0 for "-1", "inf" and "". The
// kernel writes no other fraction (rate_show() in drivers/infiniband/core/sysfs.c, 6.12).
double rate_in(std::string_view text) {
    const std::size_t end = text.find_first_not_of("0123456789");
    const auto whole = whole_number(text.substr(0, end));
    const bool has_half = end != std::string_view::npos && text.substr(end).starts_with(".5");
    return whole ? *whole + (has_half ? 0.5 : 0) : 0;
}

std::vector<HcaPort> verbs_ports(const std::string& device) {
    std::vector<HcaPort> ports;
    const std::string folder = device + "/ports";
    for (const std::string& name : files_in(folder)) {
        const auto number = whole_number(name);
        if (!number) continue;
        const std::string port_folder = formatted("{}/{}/", folder, name);
        HcaPort& port = ports.emplace_back();
        port.number = *number;
        if (const auto state = read_trimmed(port_folder + "state")) {
            port.state = state->starts_with("4:") ? HcaPort::State::active : HcaPort::State::down;
        }
        const auto link = read_trimmed(port_folder + "link_layer");  // EFA: "Unspecified"
        if (link == "InfiniBand") port.link = HcaPort::Link::infiniband;
        if (link == "Ethernet") port.link = HcaPort::Link::ethernet;
        port.gbps = rate_in(read_trimmed(port_folder + "rate").value_or(""));
    }
    std::ranges::sort(ports, {}, &HcaPort::number);
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
    // In Mb/s; -1 if the link is down.
    port.gbps = rate_in(read_trimmed(interface + "/speed").value_or("")) / 1000;
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
    std::vector<std::string> drivers = files_in(roots.sys + "/bus/pci/drivers");
    const auto hcas = files_in(roots.sys + "/class/infiniband");
    drivers.insert(drivers.end(), hcas.begin(), hcas.end());
    std::ranges::sort(drivers);
    return MachineIdentity{*boot_id, files_in(roots.sys + "/bus/pci/devices"), std::move(drivers)};
}

void update_hca_ports(NodeTopology& topology, const MachineRoots& roots) {
    for (Hca& hca : topology.hcas) {
        hca.ports = hca.kind == HcaKind::slingshot
                        ? interface_port(formatted("{}/class/net/{}", roots.sys, hca.name))
                        : verbs_ports(formatted("{}/class/infiniband/{}", roots.sys, hca.name));
    }
}

// Direct system calls, because glibc's cpu_set_t ends at 1024 CPUs.

bool read_affinity(pid_t pid, KernelCpuSet& cpus) {
    cpus.fill(0);
    return syscall(SYS_sched_getaffinity, pid, sizeof cpus, cpus.data()) > 0;
}

CpuSet own_cpus() {
    KernelCpuSet cpus{};
    return read_affinity(0, cpus) ? CpuSet::from_words(cpus) : CpuSet{};
}

bool set_affinity(const CpuSet& cpus) {
    KernelCpuSet set{};
    const auto words = cpus.words();
    if (words.size() > set.size()) return false;
    std::copy(words.begin(), words.end(), set.begin());
    constexpr pid_t this_process = 0;
    return syscall(SYS_sched_setaffinity, this_process, sizeof set, set.data()) == 0;
}

std::optional<std::string> ProcessEnvironment::get(const std::string& name) const {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
}

bool ProcessEnvironment::set(const std::string& name, const std::string& value) {
    constexpr int overwrite = 1;
    return setenv(name.c_str(), value.c_str(), overwrite) == 0;
}

void ProcessEnvironment::unset(const std::string& name) {
    unsetenv(name.c_str());
}

std::vector<std::string> ProcessEnvironment::names() const {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view variable = *entry;
        result.emplace_back(variable.substr(0, variable.find('=')));
    }
    return result;
}

}  // namespace distgpu
