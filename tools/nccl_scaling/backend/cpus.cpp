// See cpus.h.
#include "backend/cpus.h"

#include <sched.h>

namespace distgpu::scaling {

std::size_t usable_cpus() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return CPU_SETSIZE;  // it has more
    return static_cast<std::size_t>(CPU_COUNT(&cpus));
}

}  // namespace distgpu::scaling
