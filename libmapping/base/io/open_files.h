// How many files this process may have open. A rank that holds a connection to every other needs
// more than the usual soft limit of 1024.
#pragma once

#include <cstdint>

namespace distgpu {

// Raises the soft limit to the hard one. Returns what it was before.
std::uint64_t raise_open_files();

}  // namespace distgpu
