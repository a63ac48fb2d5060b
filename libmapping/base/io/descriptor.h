// File descriptors that close themselves, pipes, and waits with a deadline.
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
#include <sys/syscall.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace distgpu {

// Owns a file descriptor and closes it.
class UniqueFd {
  public:
    UniqueFd() = default;
    // `fd`: as open(2) and the like return it, so it may be negative.
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

// On failure the pipe is not open and errno says why. `flags`: of pipe2(2).
inline Pipe make_pipe(int flags = O_CLOEXEC) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), flags) != 0) ends = {-1, -1};
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Closes all descriptors from `first` on; Linux before 5.9 has no call for that.
inline void close_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
    constexpr int many = 65'536;
    for (int file = static_cast<int>(first); file < many; ++file) close(file);
}

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// Same as poll(2), but waits at most until the deadline; after it, returns at once.
inline int poll_until(std::span<pollfd> entries, Deadline deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    constexpr std::int64_t max_wait = 1'000'000'000;  // 11 days, which fit into poll()'s int
    const auto wait = std::clamp<std::int64_t>(left.count(), 0, max_wait);
    return poll(entries.data(), entries.size(), static_cast<int>(wait));
}

// Returns what `call` returns, or nullopt if it has not returned by the deadline. It then continues
// in its own thread, so it must own everything that it uses.
template <class Call>
std::optional<std::invoke_result_t<Call>> call_within(Deadline deadline, Call call) {
    std::packaged_task<std::invoke_result_t<Call>()> task(std::move(call));
    auto result = task.get_future();
    std::thread(std::move(task)).detach();
    if (result.wait_until(deadline) != std::future_status::ready) return std::nullopt;
    return result.get();
}

}  // namespace distgpu
