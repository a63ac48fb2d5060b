#include "check/node_health.h"

#include "base/environment_copy.h"
#include "base/format.h"
#include "base/io/deadline.h"
#include "base/io/file_text.h"
#include "mapping/topology/topology_json.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

bool is_on_bus(const std::string& pci, const std::vector<std::string>& bus) {
    return pci.empty() || std::find(bus.begin(), bus.end(), pci) != bus.end();
}

std::string name_of(const Gpu& gpu) {
    return gpu.model.empty() ? formatted("GPU {}", gpu.pci)
                             : formatted("GPU {} ({})", gpu.pci, gpu.model);
}

// The variable that gives a task all of them.
EnvironmentCopy all_gpus(const NodeTopology& topology) {
    std::vector<std::size_t> numbers(topology.gpus.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    const GpuVendor vendor = topology.gpus.front().vendor;
    EnvironmentCopy environment;
    environment.set(vendor == GpuVendor::intel ? "ZE_AFFINITY_MASK"
                    : vendor == GpuVendor::amd ? "ROCR_VISIBLE_DEVICES"
                                               : "CUDA_VISIBLE_DEVICES",
                    join(numbers, ","));
    return environment;
}

bool is_active(const Hca& hca, std::size_t port) {
    return port < hca.ports.size() && hca.ports[port].state == HcaPort::State::active;
}

void add_gpu_faults(std::vector<std::string>& faults, const NodeTopology& saved,
                    const std::vector<std::string>& bus, const DeviceRoots& devices) {
    if (saved.gpus.empty()) return;
    const std::size_t before = faults.size();
    for (const Gpu& gpu : saved.gpus) {
        if (!is_on_bus(gpu.pci, bus)) {
            faults.push_back(formatted("{}: gone from the PCI bus", name_of(gpu)));
        }
    }
    // What a missing GPU's device node says is no news.
    if (faults.size() > before) return;
    for (const Finding& finding : check_gpus(all_gpus(saved), &saved, devices)) {
        faults.push_back(formatted("{}: {}", finding.error.object, finding.error.problem));
    }
}

void add_hca_faults(std::vector<std::string>& faults, const NodeTopology& saved,
                    const std::vector<std::string>& bus, const MachineRoots& machine) {
    NodeTopology now = saved;
    read_ports(now, machine);
    for (std::size_t i = 0; i < saved.hcas.size(); ++i) {
        const Hca& hca = saved.hcas[i];
        if (!is_on_bus(hca.pci, bus)) {
            faults.push_back(formatted("HCA {}: gone from the PCI bus", hca.name));
            continue;
        }
        for (std::size_t port = 0; port < hca.ports.size(); ++port) {
            if (!is_active(hca, port) || is_active(now.hcas[i], port)) continue;
            faults.push_back(formatted("HCA {} port {}: not active, as it was at boot", hca.name,
                                       hca.ports[port].number));
        }
    }
}

Error not_saved(const std::string& path, const std::string& why) {
    return {
        path, why,
        "save the topology at boot: systemctl enable --now distgpu-topology (packaging/systemd)"};
}

}  // namespace

std::vector<std::string> node_faults(const NodeTopology& saved, const MachineRoots& machine,
                                     const DeviceRoots& devices) {
    const auto identity = machine_identity(machine);
    const std::vector<std::string> bus = identity ? identity->pci : std::vector<std::string>();
    std::vector<std::string> faults;
    add_gpu_faults(faults, saved, bus, devices);
    add_hca_faults(faults, saved, bus, machine);
    return faults;
}

Result<std::string> check_own_node(const std::string& saved_topology) {
    const Deadline deadline = Clock::now() + node_check_time;
    const auto text = read_regular_file(saved_topology);
    if (!text) return not_saved(saved_topology, text.error().problem);
    auto saved = parse_topology(saved_topology, *text);
    if (!saved) return not_saved(saved_topology, saved.error().problem);
    const auto machine = machine_identity();
    if (!saved->machine || !machine || saved->machine->boot_id != machine->boot_id) {
        return not_saved(saved_topology, "not saved since the last boot of this machine");
    }
    const auto faults =
        within(deadline, [topology = std::move(saved->topology)] { return node_faults(topology); });
    if (!faults) return std::string("a device does not answer within 2 s; see dmesg");
    return join(*faults, "; ");
}

}  // namespace distgpu
