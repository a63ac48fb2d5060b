// This node's topology: a file saved since the last boot, or discovered for this step.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <chrono>
#include <sys/types.h>

namespace distgpu {

struct TopologySource {
    std::string file;            // topology=, or default_topology_file
    bool is_configured = false;  // the administrator named the file
    std::string command;         // path of the distgpu command, which runs the discovery
    int open_file = -1;          // the file, opened by root; negative: it is opened when it is read
};

// Where packaging/systemd's unit saves the topology at boot.
inline constexpr const char* default_topology_file = "/run/distgpu/topology.json";

// %n: the node's name; %h: its host name; %%: a percent sign.
std::string expand_path(std::string_view pattern, std::string_view node, std::string_view host);

struct FoundTopology {
    NodeTopology topology;
    std::string ignored_file;  // "FILE: why it was not used"; empty if it was used or is absent
    bool is_saved = false;     // read from the file
};

// Whether a save would improve the file: it is missing, unreadable or of another boot, or devices
// or drivers have appeared since. A device that is gone is no reason: `distgpu check --node`
// compares with the file.
bool needs_save(const std::string& file, const MachineRoots& roots = {});

// Time limit of the command.
inline constexpr std::chrono::milliseconds discovery_time_limit{5000};

// Reads the file if it is a topology saved on this machine since its last boot; converts it if it
// is hwloc's XML; otherwise discovers. `distgpu topo` converts and discovers in its own process,
// because drivers may hang or crash it; it is not started if is_discovery_suspended().
// Errors: that command failed or was not started.
Result<FoundTopology> find_topology(const TopologySource& source, const MachineRoots& roots = {});

// Whether a discovery timed out for this user in the last 10 minutes (record_discovery_timeout())
// and neither the source nor its file or command has changed since. Saves each step the 5 s.
bool is_discovery_suspended(const TopologySource& source, uid_t user,
                            const MachineRoots& roots = {});

// Called as root; writes below /run, which a boot empties. One file per user, because the discovery
// runs as the user, who could otherwise suspend it for others. Ignores failures.
void record_discovery_timeout(const TopologySource& source, uid_t user,
                              const MachineRoots& roots = {});

}  // namespace distgpu
