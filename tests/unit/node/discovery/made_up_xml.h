// hwloc 2 XML of small made-up machines, put together from their parts.
#pragma once

#include "base/format.h"

namespace distgpu::made_up {

inline std::string os_device(const std::string& name, int type, const std::string& inner = "",
                             const std::string& subtype = "") {
    return formatted(R"(<object type="OSDev" name="{}" osdev_type="{}" subtype="{}">{}</object>)",
                     name, type, subtype, inner);
}

// hwloc_obj_osdev_type_t of hwloc 2.
constexpr int gpu_type = 1;
constexpr int network_type = 2;
constexpr int openfabrics_type = 3;

inline std::string info(const std::string& name, const std::string& value) {
    return formatted(R"(<info name="{}" value="{}"/>)", name, value);
}

// `ids`: "vendor:device".
inline std::string pci(const std::string& address, const std::string& pci_class,
                       const std::string& ids, const std::string& inner = "") {
    return formatted(R"(<object type="PCIDev" pci_busid="{}" )"
                     R"(pci_type="{} [{}] [0000:0000] 00" pci_link_speed="0.0">{}</object>)",
                     address, pci_class, ids, inner);
}

inline std::string nvidia(const std::string& address, const std::string& inner = "") {
    return pci(address, "0302", "10de:2335", inner);
}

inline std::string verbs(const std::string& address, const std::string& name,
                         const std::string& infos = "") {
    return pci(address, "0207", "15b3:1021", os_device(name, openfabrics_type, infos));
}

// In PCI domain 0.
inline std::string bridge(const std::string& address, const std::string& inner) {
    return formatted(R"(<object type="Bridge" bridge_type="1-1" depth="1" )"
                     R"(bridge_pci="0000:[00-ff]" pci_busid="0000:{}" )"
                     R"(pci_type="0604 [1022:14ab] [0000:0000] 00" )"
                     R"(pci_link_speed="0.0">{}</object>)",
                     address, inner);
}

inline std::string host_bridge(const std::string& inner) {
    return formatted(
        R"(<object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-ff]">{}</object>)",
        inner);
}

inline std::string sets(unsigned cpus, unsigned nodes) {
    return formatted(R"(cpuset="{0:#x}" complete_cpuset="{0:#x}" nodeset="{1:#x}" )"
                     R"(complete_nodeset="{1:#x}")",
                     cpus, nodes);
}

inline std::string numa_node(unsigned number, unsigned cpus) {
    return formatted(R"(<object type="NUMANode" os_index="{}" {} local_memory="1024"/>)", number,
                     sets(cpus, 1U << number));
}

// CPUs `first` and `first` + 1, which are the threads of one core.
inline std::string core(unsigned first, unsigned nodes) {
    const unsigned cpus = 3U << first;
    return formatted(R"(<object type="Core" os_index="{0}" {2}>)"
                     R"(<object type="PU" os_index="{0}" {3}/>)"
                     R"(<object type="PU" os_index="{1}" {4}/></object>)",
                     first, first + 1, sets(cpus, nodes), sets(1U << first, nodes),
                     sets(2U << first, nodes));
}

// Of two cores, CPUs 4n .. 4n+3, which are NUMA node n.
inline std::string package(unsigned number, const std::string& io = "",
                           const std::string& memory = "", unsigned more_nodes = 0) {
    const unsigned nodes = 1U << number | more_nodes;
    const unsigned cpus = 0xfU << 4 * number;
    return formatted(R"(<object type="Package" os_index="{}" {}>{}{}{}{}{}</object>)", number,
                     sets(cpus, nodes), numa_node(number, cpus), memory, core(4 * number, nodes),
                     core(4 * number + 2, nodes), io);
}

// `inner`: two packages, further NUMA nodes before them, devices after them. `tail`: what stands
// beside the machine, as distances.
inline std::string machine(const std::string& inner, unsigned nodes = 3,
                           const std::string& tail = "") {
    return formatted(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        R"(<topology version="2.0"><object type="Machine" os_index="0" {} )"
        R"(allowed_cpuset="0xff" allowed_nodeset="{:#x}">{}</object>{}</topology>)"
        "\n",
        sets(0xff, nodes), nodes, inner, tail);
}

}  // namespace distgpu::made_up
