#include "base/io/deadline.h"

#include <algorithm>
#include <cstdint>

namespace distgpu {

int poll_until(std::span<pollfd> waiting, Deadline deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    constexpr std::int64_t longest = 1'000'000'000;  // 11 days, which poll() can count
    const auto wait = std::clamp<std::int64_t>(left.count(), 0, longest);
    return poll(waiting.data(), waiting.size(), static_cast<int>(wait));
}

}  // namespace distgpu
