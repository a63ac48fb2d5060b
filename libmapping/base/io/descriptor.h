// File descriptors that close themselves, and waits that have an end.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <future>
#include <optional>
#include <poll.h>
#include <span>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace distgpu {

// Closes its descriptor at the end.
class UniqueFd {
  public:
    UniqueFd() = default;
    // Takes one that open(2) or its like returned; negative: none.
    explicit UniqueFd(int fd) : fd_(fd) {}
    ~UniqueFd() {
        if (fd_ >= 0) close(fd_);
    }
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;

    bool is_open() const { return fd_ >= 0; }
    int fd() const { return fd_; }

  private:
    int fd_ = -1;
};

struct Pipe {
    UniqueFd read;
    UniqueFd write;

    bool is_open() const { return read.is_open(); }
};

// Closed: errno says why the kernel gives none. `flags`: of pipe2(2).
inline Pipe make_pipe(int flags = O_CLOEXEC) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), flags) != 0) ends = {-1, -1};
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// As poll(2), at most until the deadline; once it has passed, without waiting.
inline int poll_until(std::span<pollfd> waiting, Deadline deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    constexpr std::int64_t longest = 1'000'000'000;  // 11 days, which poll() can count
    const auto wait = std::clamp<std::int64_t>(left.count(), 0, longest);
    return poll(waiting.data(), waiting.size(), static_cast<int>(wait));
}

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
