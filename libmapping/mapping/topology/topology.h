// The hardware of a node that decides where a rank runs: cores, NUMA nodes, GPUs, HCAs and their
// distances. A plain value, discovered on a machine or from an hwloc XML (node/discovery), written
// and read as distgpu.topo/1 (topology_json).
#pragma once

#include "base/values.h"
#include "mapping/topology/cpu_set.h"

#include <optional>

namespace distgpu {

// The path between two PCI devices, nearest first, as named by `nvidia-smi topo`.
enum class Distance : std::uint8_t {
    pix,   // across one PCI bridge at most
    pxb,   // across several PCI bridges, not through the host bridge
    phb,   // through a host bridge, that is through the CPU
    node,  // through another host bridge of the same NUMA node
    sys,   // between NUMA nodes
};
inline constexpr EnumNames<Distance> distance_names{{"PIX", "PXB", "PHB", "NODE", "SYS"}};
inline std::string_view distance_name(Distance distance) {
    return distance_names.name_of(distance);
}

struct Core {
    CpuSet cpus;                // its hardware threads
    std::uint32_t numa = 0;     // index into NodeTopology::numas
    std::uint32_t package = 0;  // hwloc's logical number

    bool operator==(const Core&) const = default;
};

struct NumaNode {
    std::uint32_t id = 0;  // the operating system's number
    CpuSet cpus;           // empty for the memory of a GPU that is coherent with the CPU

    bool operator==(const NumaNode&) const = default;
};

enum class GpuVendor : std::uint8_t { nvidia, amd, intel };
inline constexpr EnumNames<GpuVendor> gpu_vendor_names{{"NVIDIA", "AMD", "Intel"}};

struct MigInstance {
    std::string uuid;     // "MIG-..."
    std::string profile;  // "1g.10gb"; empty if unknown

    bool operator==(const MigInstance&) const = default;
};

struct Gpu {
    std::string pci;              // "0000:06:00.0", lower case
    std::uint32_t partition = 0;  // distinguishes the GPUs of one PCI device (MI300A)
    GpuVendor vendor = GpuVendor::nvidia;
    std::string model;                   // empty if unknown
    std::string uuid;                    // "GPU-..."; empty if unknown; may be all zeros
    std::optional<std::uint32_t> minor;  // of /dev/nvidiaMINOR or /dev/dri/renderDMINOR
    std::optional<std::uint32_t> numa;   // the operating system's number; nullopt if unknown
    CpuSet cpus;                         // the nearest; empty if all CPUs are equally near
    std::vector<MigInstance> mig;

    bool operator==(const Gpu&) const = default;
};

// A GPU that ranks do not use, because the node has GPUs of a vendor that comes before its own.
struct OtherGpu {
    std::string pci;
    GpuVendor vendor = GpuVendor::amd;
    std::string model;  // empty if unknown

    bool operator==(const OtherGpu&) const = default;
};

enum class HcaKind : std::uint8_t {
    verbs,      // InfiniBand or RoCE
    efa,        // AWS; NCCL reaches it through a plugin
    slingshot,  // HPE; NCCL reaches it through a plugin
};

struct HcaPort {
    enum class State : std::uint8_t { active, down, unknown };  // down: any known state but active
    enum class Link : std::uint8_t { infiniband, ethernet, unknown };
    std::uint32_t number = 1;
    State state = State::unknown;
    Link link = Link::unknown;
    double gbps = 0;  // 0 if unknown

    bool operator==(const HcaPort&) const = default;
};

struct Hca {
    std::string name;  // "mlx5_0", "rdmap16s27", "hsn0"
    std::string pci;   // "0000:05:00.0"; empty if unknown
    HcaKind kind = HcaKind::verbs;
    std::optional<std::uint32_t> numa;
    CpuSet cpus;                 // as for a GPU
    std::vector<HcaPort> ports;  // by number

    bool operator==(const Hca&) const = default;
};

// The order of the device lists does not depend on the order in which the machine lists them.
struct NodeTopology {
    std::string host;             // where it was discovered; empty if unknown
    std::string source;           // "live", or the file it came from
    std::vector<NumaNode> numas;  // by id
    std::vector<Core> cores;      // in hwloc's logical order, so that neighbours are adjacent
    // By PCI address, then partition: a GPU's index is CUDA's number for it (PCI_BUS_ID) if a
    // process can open all of them. GPUs of one vendor only, the first that is present of NVIDIA,
    // AMD and Intel.
    std::vector<Gpu> gpus;
    std::vector<OtherGpu> other_gpus;              // by vendor, then PCI address
    std::vector<Hca> hcas;                         // by name, in natural order (mlx5_2, mlx5_10)
    std::vector<std::vector<Distance>> distances;  // [gpu][hca]

    bool operator==(const NodeTopology&) const = default;
};

// "1 x AMD Instinct MI210 (0000:c1:00.0), which is left out: ranks use the NVIDIA GPUs"; empty if
// there are no GPUs of other vendors.
std::string left_out_gpus(const NodeTopology& topology);

// Whether ranks should use an HCA port.
struct PortEligibility {
    bool eligible = false;
    std::string reason;  // why not, such as "down"; empty if eligible

    bool operator==(const PortEligibility&) const = default;
};

// By [hca][port]. A port is eligible if it is ACTIVE, at least half as fast as the node's fastest
// one, and not Ethernet on a node with InfiniBand. Management and storage NICs are not eligible.
std::vector<std::vector<PortEligibility>> port_eligibility(const NodeTopology& topology);

}  // namespace distgpu
