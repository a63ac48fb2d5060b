// This machine and this process: the host name, small files in /proc and /sys, and the process's
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

// Where these file systems are mounted; tests use their own folders.
struct MachineRoots {
    std::string proc = "/proc";
    std::string sys = "/sys";
    std::string run = "/run";
    std::string dev = "/dev";
};

// gethostname(2); empty if it fails.
std::string host_name();

// host_name() up to its first dot.
std::string short_host_name();

// Errors: the boot id cannot be read.
Result<MachineIdentity> machine_identity(const MachineRoots& roots = {});

// Rereads every HCA port's state, link layer and rate from /sys/class/infiniband (verbs and EFA)
// and /sys/class/net (Slingshot), because a topology may have been saved before a link came up.
// Values that cannot be read become unknown; an HCA that is gone loses its ports.
void update_hca_ports(NodeTopology& topology, const MachineRoots& roots = {});

// A CPU set in the layout of sched_getaffinity(2).
using KernelCpuSet = std::array<CpuSet::Word, CpuSet::cpu_limit / CpuSet::word_bits>;

// The CPUs of this process; empty if the kernel refuses.
CpuSet own_cpus();

// `pid` 0: this process. False if the kernel refuses.
bool read_affinity(pid_t pid, KernelCpuSet& cpus);

// Restricts this process. Precondition: `cpus` is not empty. False if the kernel refuses.
bool set_affinity(const CpuSet& cpus);

class ProcessEnvironment : public Environment {
  public:
    std::optional<std::string> get(const std::string& name) const override;
    bool set(const std::string& name, const std::string& value) override;
    void unset(const std::string& name) override;
    std::vector<std::string> names() const override;
};

}  // namespace distgpu
