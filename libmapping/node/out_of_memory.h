// Whether the kernel has killed processes of this step because their control group was out of
// memory.
#pragma once

#include <string>

namespace distgpu {

// "out of memory (31.9 of 32.0 GiB)", or "out of memory" where the group's limit is unknown; empty
// if none was killed, or if Slurm does not limit the step's memory by a control group. In
// slurmstepd, whose own group is the step's or below it. `own_groups`: the text of
// /proc/self/cgroup; `root`: of the control groups.
std::string out_of_memory_text(const std::string& own_groups,
                               const std::string& root = "/sys/fs/cgroup");

}  // namespace distgpu
