#include "node/task_facts.h"

#include "base/io/shared_array.h"
#include "base/values.h"
#include "node/collect.h"
#include "node/gpu_devices.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

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

struct TaskGpus::Slot {
    enum class State : std::uint32_t { silent, told, unknown };
    static_assert(std::atomic<State>::is_always_lock_free, "processes share it");

    std::atomic<State> state;
    std::uint32_t count;
    std::array<std::uint32_t, 128> gpus;  // 8 MI300X in 8 partitions are 64
};

void TaskGpus::create(std::size_t tasks) {
    slots_ = shared_array<Slot>(tasks);
    tasks_ = slots_ == nullptr ? 0 : tasks;
}

void TaskGpus::tell(LocalRank task, const std::vector<std::uint32_t>& gpus) const {
    if (task.value >= tasks_) return;
    Slot& slot = slots_[task.value];
    const bool known = !gpus.empty() && gpus.size() <= slot.gpus.size();
    if (known) {
        slot.count = static_cast<std::uint32_t>(gpus.size());
        std::copy(gpus.begin(), gpus.end(), slot.gpus.begin());
    }
    slot.state.store(known ? Slot::State::told : Slot::State::unknown, std::memory_order_release);
}

std::optional<std::vector<std::vector<std::uint32_t>>> TaskGpus::of_all(
    std::chrono::milliseconds time_limit) const {
    const auto end = std::chrono::steady_clock::now() + time_limit;
    std::vector<std::vector<std::uint32_t>> lists;
    while (lists.size() < tasks_) {
        const Slot& slot = slots_[lists.size()];
        const Slot::State state = slot.state.load(std::memory_order_acquire);
        if (state == Slot::State::unknown) return std::nullopt;
        if (state == Slot::State::told) {
            // Another of the user's processes may have written there.
            const std::size_t count = std::min<std::size_t>(slot.count, slot.gpus.size());
            lists.emplace_back(slot.gpus.begin(), slot.gpus.begin() + count);
        } else if (std::chrono::steady_clock::now() >= end) {
            return std::nullopt;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return lists.empty() ? std::nullopt : std::optional(std::move(lists));
}

namespace {

// Slurm releases all tasks of a node at once, and pyxis, which stands before, makes them wait for
// each other.
constexpr std::chrono::seconds siblings_time_limit{2};

bool is_part_of(std::string_view list, std::string_view whole) {
    const auto known = comma_items(whole);
    const auto items = comma_items(list);
    return std::all_of(items.begin(), items.end(), [&](std::string_view item) {
        return std::find(known.begin(), known.end(), item) != known.end();
    });
}

}  // namespace

void StepGpuFacts::before_tasks(const Environment& step, std::size_t tasks,
                                std::optional<Numbering> numbering) {
    numbering_ = numbering;
    shared_ = gpu_owner(step) == GpuOwner::jobs;
    variables_ = gpu_variables(step);
    visible_ = visible_gpus(step);
    task_gpus_.create(tasks);
}

void StepGpuFacts::add_to(NodeFacts& facts, const Environment& task_environment,
                          LocalRank task) const {
    if (shared_ || visible_gpus(task_environment).empty()) return;
    facts.gpu_names.variables = variables_;
    const bool bound = gpu_owner(task_environment) == GpuOwner::task;
    // What Slurm set in this task tells its own GPUs, or a container replaced it.
    const auto own =
        gpus_of_task(*facts.topology, bound ? visible_gpus(task_environment) : visible_);
    task_gpus_.tell(task, own ? own->indices : std::vector<std::uint32_t>{});
    if (own && own->indices.empty()) return;
    set_gpus(facts, own);
    if (!own) return;
    facts.gpus = static_cast<std::uint32_t>(own->indices.size());
    // Where a task has fewer than the step, its siblings may have the others.
    const bool has_all = own->indices.size() == comma_items(visible_).size();
    if (bound || !has_all) add_bound(facts, *own);
}

Result<StepGpus> StepGpuFacts::gpus_of_task(const NodeTopology& topology,
                                            const std::string& visible) const {
    const auto usable = usable_gpus(topology);
    const Numbering counting = numbering_.value_or(likely_numbering(topology, usable));
    // What the task can open is its own where Slurm hides the others.
    if (counting == Numbering::opened) return step_gpus(topology, usable, visible_, counting);
    if (is_part_of(visible, visible_)) return step_gpus(topology, usable, visible, counting);
    return Error{"GPUs",
                 "Slurm bound them to the tasks, and a variable of the container hides which", ""};
}

// Tasks that all have the same GPUs share them, as in a step without such a binding.
void StepGpuFacts::add_bound(NodeFacts& facts, const StepGpus& own) const {
    auto lists = task_gpus_.of_all(siblings_time_limit);
    if (!lists) {
        facts.gpu_names.unclear =
            "GPUs: Slurm bound them to the tasks, and not every task tells "
            "which it has";
        return;
    }
    if (std::all_of(lists->begin(), lists->end(),
                    [&](const auto& list) { return list == own.indices; })) {
        return;
    }
    std::set<std::uint32_t> all;
    for (const auto& list : *lists) all.insert(list.begin(), list.end());
    facts.share.gpus.assign(all.begin(), all.end());
    // A task's names for the others' GPUs are nobody's: all keep those that Slurm gave.
    facts.gpu_names.names.assign(all.size(), "");
    facts.share.bound = *std::move(lists);
}

}  // namespace distgpu
