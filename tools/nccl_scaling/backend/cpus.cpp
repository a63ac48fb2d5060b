#include "backend/cpus.h"

#include "node/affinity.h"

namespace distgpu::scaling {

std::size_t usable_cpus() {
    KernelCpuSet cpus{};
    return read_affinity(0, cpus) ? CpuSet::from_words(cpus).count() : CpuSet::cpu_limit;
}

}  // namespace distgpu::scaling
