#include "node/discovery/discover.h"

#include "base/format.h"
#include "base/io/files.h"
#include "node/discovery/hwloc_machine.h"
#include "node/gpus.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace distgpu {
namespace {

using namespace discovery;

Topology new_topology() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return nullptr;
    // The whole machine: the tasks' masks limit it later.
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    // Includes bridges, by which distances are counted.
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return Topology(topology);
}

NodeTopology node_topology(hwloc_topology_t topology, const MachineRoots* roots) {
    const HwlocMachine machine{topology, roots, numa_nodes(topology)};
    NodeTopology node;
    const char* const host = host_name_of(topology);
    node.host = host == nullptr ? "" : host;
    node.numas = machine.numas;
    node.cores = cores(topology, machine.numas);
    FoundGpus gpus = find_gpus(machine);
    node.other_gpus = std::move(gpus.others);
    const auto hcas = find_hcas(machine);
    for (const FoundHca& hca : hcas) node.hcas.push_back(hca.hca);
    for (const FoundGpu& gpu : gpus.gpus) {
        node.gpus.push_back(gpu.gpu);
        auto& row = node.distances.emplace_back();
        for (const FoundHca& hca : hcas) {
            row.push_back(pci_distance(topology, gpu.pci_device, hca.os_device));
        }
    }
    return node;
}

Error unreadable_xml_error(const std::string& path, std::string_view xml) {
    const unsigned major = hwloc_major();
    constexpr std::string_view prefix = "<topology version=\"";
    const std::size_t at = xml.find(prefix);
    // The first digit of the version; '0' if the XML has no version, as that of hwloc 1.
    const bool has_version = at != std::string_view::npos && at + prefix.size() < xml.size();
    const char version = has_version ? xml[at + prefix.size()] : '0';
    // Only from 2.10 on does hwloc read XML of the next major version.
    if (version > static_cast<char>('0' + major)) {
        return {path,
                formatted("written by hwloc {}, but this program uses hwloc {}", version, major),
                formatted("write it with lstopo --export-xml-flags v{}", major)};
    }
    return {path, formatted("not a topology that hwloc {} reads", major),
            "write it again with lstopo FILE.xml"};
}

Result<NodeTopology> parse_xml(const std::string& path, const std::string& xml) {
    const Topology topology = new_topology();
    // hwloc's size includes the terminating NUL.
    const int size = static_cast<int>(xml.size() + 1);
    if (!topology || hwloc_topology_set_xmlbuffer(topology.get(), xml.c_str(), size) != 0 ||
        hwloc_topology_load(topology.get()) != 0) {
        return unreadable_xml_error(path, xml);
    }
    NodeTopology node = node_topology(topology.get(), nullptr);
    node.source = path;
    return node;
}

}  // namespace

Result<NodeTopology> discover(const MachineRoots& roots) {
    // Otherwise hwloc would print its own error and report a machine without devices.
    std::error_code failed;
    if (!std::filesystem::exists("/sys/devices/system/cpu", failed)) {
        return Error{"/sys", "cannot be read, so this machine's devices are unknown",
                     "run it where sysfs is mounted on /sys"};
    }
    const Topology topology = new_topology();
    // hwloc's data from /proc and /sys is enough. The first six components would initialize GPUs,
    // which takes a second or more; `pci` would spend half of the time on reading the list of all
    // PCI device names.
    for (const char* const name : {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl", "pci"}) {
        if (!topology) break;
        hwloc_topology_set_components(topology.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      name);
    }
    if (!topology || hwloc_topology_load(topology.get()) != 0) {
        return Error{"this machine", formatted("hwloc cannot read it: {}", std::strerror(errno)),
                     "check that lstopo works"};
    }
    NodeTopology node = node_topology(topology.get(), &roots);
    node.source = "live";
    read_driver_ids(node, roots);
    update_hca_ports(node, roots);
    return node;
}

Result<NodeTopology> load_topology(const std::string& path) {
    return read_regular_file(path).and_then([&](const std::string& text) {
        const std::size_t first = text.find_first_not_of(" \t\r\n");
        if (first == std::string::npos || text[first] != '{') return parse_xml(path, text);
        return parse_topology(path, text).transform([](SavedTopology&& saved) {
            return std::move(saved.topology);
        });
    });
}

void unset_hwloc_variables() {
    ProcessEnvironment own;
    for (const std::string& name : own.names()) {
        if (name.starts_with("HWLOC_")) own.unset(name);
    }
}

}  // namespace distgpu
