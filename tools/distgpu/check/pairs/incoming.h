// A connection from a partner in the trial of the network: what this node takes.
#pragma once

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "check/pairs/trial.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu {

class Incoming {
  public:
    // The node that a greeting names; nothing: it is no partner's.
    using Named = std::function<std::optional<std::uint32_t>(std::string_view greeting)>;

    // `stream`: how long the partner will send.
    Incoming(Socket socket, Clock::duration stream) : socket_(std::move(socket)), stream_(stream) {}

    int fd() const { return socket_.fd(); }  // -1: closed

    // Takes what has arrived, and answers as long as round trips are measured.
    void serve(const Named& named);

    // Nothing: no partner, or it did not get so far.
    std::optional<HeardFrom> result() const;

  private:
    bool read_greeting(std::string_view& text, const Named& named);
    void count(std::size_t bytes);
    // The beginning does not count: a switch's buffers take it faster than the network goes.
    Clock::duration uncounted() const { return stream_ * 2 / 5; }

    Socket socket_;
    Clock::duration stream_;
    std::string greeting_;
    std::optional<std::uint32_t> node_;
    std::uint32_t answered_ = 0;
    std::optional<Clock::time_point> first_;  // of the stream
    std::uint64_t counted_ = 0;               // bytes
};

}  // namespace distgpu
