// `distgpu check --node`: checks that this node works, and still has the devices that it had when
// its topology was saved at boot. For slurmd's HealthCheckProgram, prologs, and new installations.
#include "base/format.h"
#include "base/io/files.h"
#include "base/io/socket.h"
#include "check/checks.h"
#include "mapping/topology/topology_json.h"
#include "node/gpus.h"

#include <algorithm>
#include <dlfcn.h>
#include <numeric>

namespace distgpu {
namespace {

constexpr std::chrono::milliseconds time_limit{2000};

bool is_on_bus(const std::string& pci, const std::vector<std::string>& bus) {
    return pci.empty() || std::find(bus.begin(), bus.end(), pci) != bus.end();
}

// The variable that gives a task all GPUs of the node.
EnvironmentCopy all_gpus(const NodeTopology& topology) {
    std::vector<std::size_t> numbers(topology.gpus.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    EnvironmentCopy environment;
    environment.set(std::string(gpu_list_variables.name_of(topology.gpus.front().vendor)),
                    join(numbers, ","));
    return environment;
}

bool is_active(const Hca& hca, std::size_t port) {
    return port < hca.ports.size() && hca.ports[port].state == HcaPort::State::active;
}

void add_gpu_faults(std::vector<std::string>& faults, const NodeTopology& saved,
                    const std::vector<std::string>& bus, const MachineRoots& machine) {
    for (const Gpu& gpu : saved.gpus) {
        if (is_on_bus(gpu.pci, bus)) continue;
        const std::string model = gpu.model.empty() ? "" : formatted(" ({})", gpu.model);
        faults.push_back(formatted("GPU {}{}: gone from the PCI bus", gpu.pci, model));
    }
    // A missing GPU's device node would be missing too.
    if (saved.gpus.empty() || !faults.empty()) return;
    for (const Finding& finding : check_gpus(all_gpus(saved), &saved, machine)) {
        faults.push_back(finding.error.cause());
    }
}

void add_hca_faults(std::vector<std::string>& faults, const NodeTopology& saved,
                    const std::vector<std::string>& bus, const MachineRoots& machine) {
    NodeTopology now = saved;
    update_hca_ports(now, machine);
    for (std::size_t i = 0; i < saved.hcas.size(); ++i) {
        const Hca& hca = saved.hcas[i];
        if (!is_on_bus(hca.pci, bus)) {
            faults.push_back(formatted("HCA {}: gone from the PCI bus", hca.name));
            continue;
        }
        for (std::size_t port = 0; port < hca.ports.size(); ++port) {
            if (!is_active(hca, port) || is_active(now.hcas[i], port)) continue;
            faults.push_back(formatted("HCA {} port {}: was active at boot, but is not now",
                                       hca.name, hca.ports[port].number));
        }
    }
}

// Errors: no topology was saved since the boot.
Result<NodeTopology> read_saved(const std::string& path) {
    const auto not_saved_error = [&](const std::string& why) {
        return Error{path, why,
                     "save the topology at boot: systemctl enable --now distgpu-topology "
                     "(packaging/systemd)"};
    };
    const auto text = read_regular_file(path);
    if (!text) return not_saved_error(text.error().problem);
    auto saved = parse_topology(path, *text);
    if (!saved) return not_saved_error(saved.error().problem);
    const auto machine = machine_identity();
    if (!saved->machine || !machine || saved->machine->boot_id != machine->boot_id) {
        return not_saved_error("not saved since the last boot of this machine");
    }
    read_driver_ids(saved->topology);  // of drivers that were loaded since
    return std::move(saved->topology);
}

}  // namespace

std::vector<std::string> node_faults(const NodeTopology* saved, const MachineRoots& machine) {
    std::vector<std::string> faults;
    if (saved != nullptr) {
        const auto identity = machine_identity(machine);
        const std::vector<std::string> bus = identity ? identity->pci : std::vector<std::string>();
        add_gpu_faults(faults, *saved, bus, machine);
        add_hca_faults(faults, *saved, bus, machine);
    }
    if (nvidia_driver_has_gpus(machine.proc)) {
        void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) {
            faults.emplace_back(
                "libcuda.so.1: cannot be loaded, although NVIDIA's driver has GPUs");
        } else {
            dlclose(library);
        }
    }
    const auto connection = listen_on(0).and_then([&](const Socket& listener) {
        return connect_to("127.0.0.1", port_of(listener), Clock::now() + time_limit / 2);
    });
    if (!connection) {
        faults.push_back(formatted("cannot connect to 127.0.0.1: {}", connection.error().cause()));
    }
    return faults;
}

Result<std::string> check_own_node(const std::string& saved_topology) {
    const Deadline deadline = Clock::now() + time_limit;
    const auto saved = read_saved(saved_topology);
    const auto faults =
        call_within(deadline, [saved] { return node_faults(saved ? &*saved : nullptr); });
    if (!faults) return std::string("a device does not answer within 2 s; see dmesg");
    if (faults->empty() && !saved) return saved.error();
    return join(*faults, "; ");
}

}  // namespace distgpu
