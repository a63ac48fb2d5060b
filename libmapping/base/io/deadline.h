// Waits that have an end, also for calls that have none of their own.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <poll.h>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

namespace distgpu {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// As poll(2), at most until the deadline; once it has passed, without waiting.
int poll_until(std::span<pollfd> waiting, Deadline deadline);

// What `call` returns; nothing where it has not returned at the deadline. It then goes on in a
// thread of its own, so it must own what it uses.
template <class Call>
std::optional<std::invoke_result_t<Call>> within(Deadline deadline, Call call) {
    std::packaged_task<std::invoke_result_t<Call>()> task(std::move(call));
    auto result = task.get_future();
    std::thread(std::move(task)).detach();
    if (result.wait_until(deadline) != std::future_status::ready) return std::nullopt;
    return result.get();
}

}  // namespace distgpu
