// This machine and this process: the host's name, small files of /proc and /sys, and the process's
// CPUs and environment.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/topology.h"
#include "mapping/topology/topology_json.h"

#include <array>
#include <sys/types.h>

namespace distgpu {

// Where these file systems are mounted; tests give folders of their own.
struct MachineRoots {
    std::string proc = "/proc";
    std::string sys = "/sys";
    std::string run = "/run";
    std::string dev = "/dev";
};

// gethostname(2); empty where it fails.
std::string host_name();

// host_name() up to its first dot.
std::string short_host_name();

// Errors: no boot id.
Result<MachineIdentity> machine_identity(const MachineRoots& roots = {});

// Reads every port's state, link layer and rate anew from /sys/class/infiniband (verbs and EFA) and
// /sys/class/net (Slingshot). A saved topology may be from before a link came up. What cannot be
// read becomes unknown; an HCA that is gone loses its ports.
void read_ports(NodeTopology& topology, const MachineRoots& roots = {});

// A CPU set as sched_getaffinity(2) fills it.
using KernelCpuSet = std::array<CpuSet::Word, CpuSet::cpu_limit / CpuSet::word_bits>;

// The CPUs of this process; empty: the kernel refused.
CpuSet own_cpus();

// `pid` 0: this process. False: the kernel refused.
bool read_affinity(pid_t pid, KernelCpuSet& cpus);

// Restricts this process. Precondition: not empty. False: the kernel refused.
bool set_affinity(const CpuSet& cpus);

class ProcessEnvironment : public Environment {
  public:
    std::optional<std::string> get(const std::string& name) const override;
    bool set(const std::string& name, const std::string& value) override;
    void unset(const std::string& name) override;
    std::vector<std::string> names() const override;
};

}  // namespace distgpu
