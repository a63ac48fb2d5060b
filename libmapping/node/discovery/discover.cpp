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
    // The tasks' masks say later what of the machine is theirs.
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    // Bridges included, which distances are counted by.
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return Topology(topology);
}

NodeTopology node_topology(hwloc_topology_t topology, const MachineRoots* roots) {
    const Source source{topology, roots, numa_nodes(topology)};
    NodeTopology node;
    const char* const host = host_name_of(topology);
    node.host = host == nullptr ? "" : host;
    node.numas = source.numas;
    node.cores = cores(topology, source.numas);
    const auto gpus = find_gpus(source);
    const auto hcas = find_hcas(source);
    for (const FoundHca& hca : hcas) node.hcas.push_back(hca.hca);
    for (const FoundGpu& gpu : gpus) {
        node.gpus.push_back(gpu.gpu);
        auto& row = node.distances.emplace_back();
        for (const FoundHca& hca : hcas) {
            row.push_back(pci_distance(topology, gpu.pci_device, hca.os_device));
        }
    }
    return node;
}

Error refused_xml(const std::string& path, std::string_view xml) {
    const unsigned major = hwloc_major();
    constexpr std::string_view mark = "<topology version=\"";
    const std::size_t at = xml.find(mark);
    // The digit with which the version begins; '0': it has none, as that of hwloc 1.
    const bool has_version = at != std::string_view::npos && at + mark.size() < xml.size();
    const char version = has_version ? xml[at + mark.size()] : '0';
    // hwloc reads XML of the next version from 2.10 on.
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
    // hwloc counts the zero at the end in.
    const int size = static_cast<int>(xml.size() + 1);
    if (!topology || hwloc_topology_set_xmlbuffer(topology.get(), xml.c_str(), size) != 0 ||
        hwloc_topology_load(topology.get()) != 0) {
        return refused_xml(path, xml);
    }
    NodeTopology node = node_topology(topology.get(), nullptr);
    node.source = path;
    return node;
}

}  // namespace

Result<NodeTopology> discover(const MachineRoots& roots) {
    // hwloc would write a line of its own and find a machine without devices.
    std::error_code failed;
    if (!std::filesystem::exists("/sys/devices/system/cpu", failed)) {
        return Error{"/sys", "cannot be read, so that nothing is known of this machine's devices",
                     "run it where sysfs is mounted on /sys"};
    }
    const Topology topology = new_topology();
    // What hwloc reads in /proc and /sys is enough. The first six would initialise GPUs, which
    // takes a second and more; `pci` would take half of the time to read the list of all PCI
    // devices' names.
    for (const char* const name : {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl", "pci"}) {
        if (!topology) break;
        hwloc_topology_set_components(topology.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      name);
    }
    if (!topology || hwloc_topology_load(topology.get()) != 0) {
        return Error{"this machine", formatted("hwloc cannot read it: {}", std::strerror(errno)),
                     "see whether lstopo can"};
    }
    NodeTopology node = node_topology(topology.get(), &roots);
    node.source = "live";
    ask_drivers(node, roots);
    read_ports(node, roots);
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

void take_hwloc_environment() {
    ProcessEnvironment own;
    for (const std::string& name : own.names()) {
        if (name.starts_with("HWLOC_")) own.unset(name);
    }
}

}  // namespace distgpu
