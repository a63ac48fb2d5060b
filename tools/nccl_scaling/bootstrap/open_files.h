// Whether rank 0 may have as many files open as a run needs: it has a connection to every rank, and
// NCCL and MPI have some for each rank that they talk to.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>

namespace distgpu::scaling {

// Nothing: rank 0 can hold the connections of a run of so many ranks. Error: names the number of
// open files that it needs.
std::optional<Error> lack_of_open_files(std::uint32_t world_size);

}  // namespace distgpu::scaling
