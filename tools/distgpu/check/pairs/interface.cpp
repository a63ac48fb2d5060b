#include "check/pairs/interface.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr double mega_bits = 1e6 / 8;  // bytes

// The processor's own word for it, which x86 has.
bool is_virtual_machine(const MachineRoots& roots) {
    // Only the first processor's lines: all of them take milliseconds on a large machine.
    std::ifstream processors(roots.proc + "/cpuinfo");
    for (std::string line; std::getline(processors, line) && !line.empty();) {
        if (!line.starts_with("flags")) continue;
        return (line + " ").find(" hypervisor ") != std::string::npos;
    }
    return false;
}

// In Mb/s; not positive if unknown.
double ethernet_speed(const std::string& folder) {
    return decimal(read_trimmed(folder + "/speed").value_or("")).value_or(0);
}

// IP over InfiniBand, whose driver may not state a speed: its port's "100 Gb/sec (4X EDR)", in
// Mb/s.
double infiniband_speed(const std::string& folder) {
    constexpr double giga = 1000;
    const auto port = whole_number(read_trimmed(folder + "/dev_port").value_or("0"));
    for (const std::string& hca : files_in(folder + "/device/infiniband")) {
        const std::string rate = read_trimmed(formatted("{}/device/infiniband/{}/ports/{}/rate",
                                                        folder, hca, port.value_or(0) + 1))
                                     .value_or("");
        return giga * decimal(rate.substr(0, rate.find(' '))).value_or(0);
    }
    return 0;
}

double hardware_speed(const std::string& name, const MachineRoots& roots) {
    const std::string folder = formatted("{}/class/net/{}", roots.sys, name);
    if (access((folder + "/device").c_str(), F_OK) == 0) {
        const double speed = ethernet_speed(folder);
        return std::max(0.0, speed > 0 ? speed : infiniband_speed(folder)) * mega_bits;
    }
    constexpr std::string_view below = "lower_";
    double fastest = 0;
    for (const std::string& file : files_in(folder)) {
        if (!file.starts_with(below)) continue;
        fastest = std::max(fastest, hardware_speed(file.substr(below.size()), roots));
    }
    return fastest;
}

std::uint64_t counter(const std::string& name, std::string_view file, const MachineRoots& roots) {
    const auto text =
        read_trimmed(formatted("{}/class/net/{}/statistics/{}", roots.sys, name, file));
    return whole_number_64(text.value_or("")).value_or(0);
}

}  // namespace

double interface_speed(const std::string& name, const MachineRoots& roots) {
    return name.empty() || is_virtual_machine(roots) ? 0 : hardware_speed(name, roots);
}

InterfaceTraffic interface_traffic(const std::string& name, const MachineRoots& roots) {
    return {counter(name, "tx_bytes", roots), counter(name, "rx_bytes", roots)};
}

}  // namespace distgpu
