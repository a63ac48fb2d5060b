// The CPUs on which a process may run, as the kernel keeps them.
#pragma once

#include "mapping/topology/cpu_set.h"

#include <array>
#include <optional>
#include <sys/types.h>

namespace distgpu {

// A CPU set as sched_getaffinity(2) fills it.
using KernelCpuSet = std::array<CpuSet::Word, CpuSet::cpu_limit / CpuSet::word_bits>;

// `pid` 0: this process. False: the kernel refused.
bool read_affinity(pid_t pid, KernelCpuSet& cpus);

// Restricts this process. Precondition: not empty. False: the kernel refused.
bool set_affinity(const CpuSet& cpus);

}  // namespace distgpu
