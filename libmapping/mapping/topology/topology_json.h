// Writes and reads a topology as JSON (schema distgpu.topo/1): the output of `distgpu topo --format
// json`, and the cache that `distgpu topo --save` writes for the steps until the next boot.
#pragma once

#include "mapping/topology/topology.h"

namespace distgpu {

// Identifies the machine and boot for which a topology was saved.
struct MachineIdentity {
    std::string boot_id;           // /proc/sys/kernel/random/boot_id
    std::vector<std::string> pci;  // addresses of all PCI devices, sorted
    // Names of the PCI drivers that are loaded, and of the HCAs that have appeared, sorted.
    std::vector<std::string> drivers{};

    bool operator==(const MachineIdentity&) const = default;
};

struct SavedTopology {
    NodeTopology topology;
    std::optional<MachineIdentity> machine;  // nullopt if the text was not saved as a cache

    bool operator==(const SavedTopology&) const = default;
};

// Each GPU, HCA, core and row of distances is one line. Ends with a newline.
std::string to_json(const NodeTopology& topology, const std::optional<MachineIdentity>& machine);

// Errors: not JSON, another schema, a field that is missing, has another type or is out of range
// (indices, CPU lists, a matrix of the wrong size). Object: `origin`, the name of the text.
Result<SavedTopology> parse_topology(std::string_view origin, std::string_view text);

}  // namespace distgpu
