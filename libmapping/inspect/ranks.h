// Which of the processes seen are the step's ranks.
#pragma once

#include "inspect/look.h"

#include <cstdint>
#include <vector>

namespace distgpu {

struct RankLook {
    std::uint32_t rank = 0;
    const NodeLook* node = nullptr;
    const ProcessLook* process = nullptr;
    std::vector<const ProcessLook*> workers{};  // Python processes below it, as a DataLoader's
};

struct Ranks {
    std::vector<RankLook> seen;          // ascending
    std::vector<std::uint32_t> missing;  // ascending; up to 65,536
    std::uint64_t expected = 0;
};

// Whether it had not ended at the last moment.
bool is_there(const ProcessLook& process);

// By RANK where a process has it, as below torchrun, else by Slurm's number of its task. A rank's
// process is the eldest Python of it, else the eldest that is no shell or launcher. `tasks`: the
// step's. Of a component of a heterogeneous step (`is_component`), whose ranks count on over those
// of the others, nobody can tell which are missing. The result points into `looks`.
Ranks find_ranks(const std::vector<NodeLook>& looks, std::uint32_t tasks,
                 bool is_component = false);

}  // namespace distgpu
