// The system calls themselves: glibc's cpu_set_t ends at 1024 CPUs.
#include "node/affinity.h"

#include <algorithm>
#include <sys/syscall.h>
#include <unistd.h>

namespace distgpu {

bool read_affinity(pid_t pid, KernelCpuSet& cpus) {
    cpus.fill(0);
    return syscall(SYS_sched_getaffinity, pid, sizeof cpus, cpus.data()) > 0;
}

bool set_affinity(const CpuSet& cpus) {
    KernelCpuSet set{};
    const auto words = cpus.words();
    if (words.size() > set.size()) return false;
    std::copy(words.begin(), words.end(), set.begin());
    constexpr pid_t this_process = 0;
    return syscall(SYS_sched_setaffinity, this_process, sizeof set, set.data()) == 0;
}

}  // namespace distgpu
