#include "bootstrap/open_files.h"

#include "base/format.h"

#include <sys/resource.h>

namespace distgpu::scaling {
namespace {

// Beside the connections: of the program, its libraries and their devices.
constexpr rlim_t others = 256;

}  // namespace

std::optional<Error> lack_of_open_files(std::uint32_t world_size) {
    const rlim_t needed = world_size + others;
    rlimit limits{};
    getrlimit(RLIMIT_NOFILE, &limits);
    const rlim_t allowed = limits.rlim_cur;
    if (needed <= allowed) return std::nullopt;
    return Error{
        "open files",
        formatted("rank 0 needs {} for {} ranks, and may have {}", needed, world_size, allowed),
        "raise the hard limit on its node, ulimit -Hn"};
}

}  // namespace distgpu::scaling
