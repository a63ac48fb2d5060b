#include "task_gpus.h"

#include "shared_array.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace distgpu {

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

}  // namespace distgpu
