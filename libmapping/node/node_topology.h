// This node's topology: saved since the boot, or discovered for this step.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <chrono>
#include <sys/types.h>

namespace distgpu {

struct TopologySource {
    std::string file;     // topology=, or default_topology_file
    bool given = false;   // the administrator named the file
    std::string command;  // the distgpu command, which discovers
};

// Where packaging/systemd's unit saves the topology at boot.
inline constexpr const char* default_topology_file = "/run/distgpu/topology.json";

// %n: the node's name; %h: its host name; %%: a percent sign.
std::string expand_path(std::string_view pattern, std::string_view node, std::string_view host);

struct FoundTopology {
    NodeTopology topology;
    std::string ignored;  // why the file was not used; empty: it was, or there is none
};

// How long the command may take.
inline constexpr std::chrono::milliseconds discovery_time_limit{5000};

// Reads the file where it is a saved topology of this boot and machine; converts it where it is
// hwloc's XML; else discovers. `distgpu topo` converts and discovers in a process of its own, with
// whatever hangs and crashes; it is not started where is_silent().
// Errors: that command failed, or is not asked.
Result<FoundTopology> find_topology(const TopologySource& source, const MachineRoots& roots = {});

// Whether a discovery timed out for this user in the last 10 minutes (note_silent()), and neither
// the source nor its file or command has changed since: so the 5 s are not spent by every step.
bool is_silent(const TopologySource& source, uid_t user, const MachineRoots& roots = {});

// As root, below /run, which a boot empties. A file for each user: the discovery runs as the user,
// who could stop it for others. Where it cannot be written, nothing is remembered.
void note_silent(const TopologySource& source, uid_t user, const MachineRoots& roots = {});

}  // namespace distgpu
