// How many files this process may have open. Rank 0 has a connection to every rank, NCCL and MPI
// have some for each rank that they talk to, and the usual soft limit is 1024.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>

namespace distgpu::scaling {

// Raises the soft limit to the hard one.
void raise_open_files();

// Nothing: rank 0 can hold the connections of a run of so many ranks. Error: names the number of
// open files that it needs.
std::optional<Error> lack_of_open_files(std::uint32_t world_size);

}  // namespace distgpu::scaling
