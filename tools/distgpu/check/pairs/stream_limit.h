// What limits a TCP stream: whether a low rate is the network's fault, or that of a busy node.
#pragma once

#include "base/io/descriptor.h"

#include <chrono>

namespace distgpu {

// Measures the share of a stream's time in which the network held it back: TCP had all the data
// that it takes, or some that it could not send yet, and neither the receiver's window nor the
// memory for unacknowledged data was the reason. A sender that is too slow, or has no CPU, leaves
// TCP with room and without data.
class StreamLimit {
  public:
    // Starts measuring. `fd`: the connection.
    StreamLimit(int fd, Clock::time_point now);

    // To be called every few milliseconds, and before the program sends more. `has_room`: whether
    // TCP takes more now.
    void note(int fd, bool has_room, Clock::time_point now);

    // Ends measuring. 0 if the kernel does not tell (before Linux 4.10).
    double network_share(int fd, Clock::time_point now) const;

  private:
    Clock::time_point start_;
    Clock::time_point noted_;
    Clock::duration held_back_{};  // until noted_
    std::chrono::microseconds other_limits_at_start_;
};

}  // namespace distgpu
