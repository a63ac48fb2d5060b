#include "locality.h"

namespace distgpu {

Locality::Locality(const NodeTopology& topology) {
    for (const Core& core : topology.cores) {
        all_ |= core.cpus;
        if (core.package >= packages_.size()) packages_.resize(core.package + 1);
        packages_[core.package] |= core.cpus;
    }
    for (const Gpu& gpu : topology.gpus) {
        const CpuSet& near = gpu.cpus.empty() ? all_ : gpu.cpus;
        gpus_.push_back({near, package_of(near)});
    }
}

CpuSet Locality::package_of(const CpuSet& cpus) const {
    CpuSet found;
    for (const CpuSet& package : packages_) {
        if (package.intersects(cpus)) found |= package;
    }
    return found;
}

std::int64_t Locality::distance(const CpuSet& mask, std::uint32_t gpu) const {
    const std::int64_t all = mask.count();
    const std::int64_t near = mask.count_in(gpus_[gpu].near);
    const std::int64_t same_package = mask.count_in(gpus_[gpu].package);
    const std::int64_t far = all - same_package;
    return 1000 * (same_package - near + 2 * far) / all;
}

}  // namespace distgpu
