// A topology as text, in the form distgpu.topo/1: what `distgpu topo` prints, and what
// `distgpu topo --save` keeps for the steps of this boot.
#pragma once

#include "mapping/topology/topology.h"

namespace distgpu {

// What tells whether a saved topology is still this machine's.
struct MachineIdentity {
    std::string boot_id;           // /proc/sys/kernel/random/boot_id
    std::vector<std::string> pci;  // addresses of all PCI devices, sorted

    bool operator==(const MachineIdentity&) const = default;
};

struct SavedTopology {
    NodeTopology topology;
    std::optional<MachineIdentity> machine;  // nothing: the text was not saved as a cache

    bool operator==(const SavedTopology&) const = default;
};

// One GPU, HCA, core and row of distances a line. Ends with a newline. `machine` is written where
// it is known.
std::string to_json(const NodeTopology& topology, const std::optional<MachineIdentity>& machine);

// Errors: not JSON, another schema, a field that is missing, of another type or out of range
// (indices, CPU lists, a matrix of another size). Object: `origin`, which names the text.
Result<SavedTopology> parse_topology(std::string_view origin, std::string_view text);

}  // namespace distgpu
