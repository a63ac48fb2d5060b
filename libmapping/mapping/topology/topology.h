// What a node consists of, as far as it decides where a rank runs: cores, NUMA nodes, GPUs, HCAs
// and how near they are to each other. A plain value, made of a machine or an hwloc XML
// (node/discovery), written and read as distgpu.topo/1 (topology_json).
#pragma once

#include "base/values.h"
#include "mapping/topology/cpu_set.h"

#include <optional>

namespace distgpu {

// How two PCI devices reach each other, nearest first, in the words of `nvidia-smi topo`.
enum class Distance : std::uint8_t {
    pix,   // across one PCI bridge at most
    pxb,   // across several PCI bridges, not through the host bridge
    phb,   // through a host bridge, that is through the CPU
    node,  // through another host bridge of the same NUMA node
    sys,   // between NUMA nodes
};
inline constexpr EnumWords<Distance> distance_words{{"PIX", "PXB", "PHB", "NODE", "SYS"}};
inline std::string_view word(Distance distance) {
    return distance_words.word_of(distance);
}

struct Core {
    CpuSet cpus;                // its hardware threads
    std::uint32_t numa = 0;     // index into NodeTopology::numas
    std::uint32_t package = 0;  // hwloc's logical number

    bool operator==(const Core&) const = default;
};

struct NumaNode {
    std::uint32_t id = 0;  // the operating system's number
    CpuSet cpus;           // may be empty: the memory of a GPU that is coherent with the CPU

    bool operator==(const NumaNode&) const = default;
};

enum class GpuVendor : std::uint8_t { nvidia, amd, intel };

struct MigInstance {
    std::string uuid;     // "MIG-..."
    std::string profile;  // "1g.10gb"; empty: not known

    bool operator==(const MigInstance&) const = default;
};

struct Gpu {
    std::string pci;              // "0000:06:00.0", lower case
    std::uint32_t partition = 0;  // of a GPU that is several of its PCI device (MI300A)
    GpuVendor vendor = GpuVendor::nvidia;
    std::string model;                   // empty: not known
    std::string uuid;                    // "GPU-..."; empty: not known; may be all zeros
    std::optional<std::uint32_t> minor;  // of /dev/nvidiaMINOR or /dev/dri/renderDMINOR
    std::optional<std::uint32_t> numa;   // the operating system's number; nothing: not known
    CpuSet cpus;                         // the nearest; empty: every CPU is equally near
    std::vector<MigInstance> mig;

    bool operator==(const Gpu&) const = default;
};

enum class HcaKind : std::uint8_t {
    verbs,      // InfiniBand or RoCE
    efa,        // AWS's, which NCCL reaches through a plugin
    slingshot,  // HPE's, the same
};

struct HcaPort {
    enum class State : std::uint8_t { active, down, unknown };  // down: every other state
    enum class Link : std::uint8_t { infiniband, ethernet, unknown };
    std::uint32_t number = 1;
    State state = State::unknown;
    Link link = Link::unknown;
    double gbps = 0;  // 0: not known

    bool operator==(const HcaPort&) const = default;
};

struct Hca {
    std::string name;  // "mlx5_0", "rdmap16s27", "hsn0"
    std::string pci;   // "0000:05:00.0"; empty: not known
    HcaKind kind = HcaKind::verbs;
    std::optional<std::uint32_t> numa;
    CpuSet cpus;                 // as for a GPU
    std::vector<HcaPort> ports;  // by number

    bool operator==(const Hca&) const = default;
};

// Device lists have a fixed order, whatever order the machine listed them in.
struct NodeTopology {
    std::string host;             // where it was discovered; empty: not known
    std::string source;           // "live", or the file it came from
    std::vector<NumaNode> numas;  // by id
    std::vector<Core> cores;      // neighbours beside each other (hwloc's logical order)
    // By PCI address, then partition: a GPU's index is the number by which CUDA calls it
    // (PCI_BUS_ID) where a process can open all of them. Where GPUs of several makers are present,
    // those of one: NVIDIA's before AMD's before Intel's (the others serve the screen).
    std::vector<Gpu> gpus;
    std::vector<Hca> hcas;                         // by name, numbers as numbers (mlx5_2, mlx5_10)
    std::vector<std::vector<Distance>> distances;  // [gpu][hca]

    bool operator==(const NodeTopology&) const = default;
};

// Whether ranks should use a port, and why not: for one port of one HCA.
struct PortVerdict {
    bool eligible = false;
    std::string why;  // "down"; empty where eligible

    bool operator==(const PortVerdict&) const = default;
};

// [hca][port]. Eligible: the port is ACTIVE, at least half as fast as the node's fastest one, and
// not Ethernet beside InfiniBand. A management NIC and a storage network fail this.
std::vector<std::vector<PortVerdict>> port_verdicts(const NodeTopology& topology);

}  // namespace distgpu
