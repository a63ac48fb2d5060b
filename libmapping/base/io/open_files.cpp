#include "base/io/open_files.h"

#include <sys/resource.h>

namespace distgpu {

std::uint64_t raise_open_files() {
    rlimit limits{};
    getrlimit(RLIMIT_NOFILE, &limits);
    const rlim_t usual = limits.rlim_cur;
    limits.rlim_cur = limits.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limits);
    return usual;
}

}  // namespace distgpu
