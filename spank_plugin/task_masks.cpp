#include "task_masks.h"

#include "shared_array.h"

namespace distgpu {

void TaskMasks::create(std::size_t tasks) {
    shared_ = shared_array<KernelCpuSet>(tasks);
    tasks_ = shared_ == nullptr ? 0 : tasks;
}

void TaskMasks::record(std::size_t local_rank, pid_t task) {
    if (local_rank >= tasks_) return;
    KernelCpuSet cpus{};
    if (read_affinity(task, cpus)) shared_[local_rank] = cpus;
}

std::vector<CpuSet> TaskMasks::read() const {
    std::vector<CpuSet> masks;
    for (std::size_t task = 0; task < tasks_; ++task) {
        masks.push_back(CpuSet::from_words(shared_[task]));
        if (masks.back().empty()) return {};
    }
    return masks;
}

}  // namespace distgpu
