// A connection to a partner in the trial of the network: what this node sends.
#pragma once

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "check/pairs/trial.h"

#include <cstdint>
#include <string>

namespace distgpu {

// How often a round trip is measured, by a byte and its answer, before anything else is sent.
inline constexpr std::uint32_t round_trips = 5;

class Outgoing {
  public:
    // Begins to connect. `greeting`: a line by which the partner knows this node.
    Outgoing(const TrialPartner& partner, std::string greeting);

    int fd() const { return problem_.empty() ? socket_.fd() : -1; }  // -1: nothing to wait for
    bool wants_to_write(Clock::time_point now) const { return !connected_ || sends(now); }

    // What poll() said of it.
    void serve(short events);

    // Sends zeros as fast as they go.
    void stream_until(Clock::time_point end) { end_ = end; }

    // It was tried for long enough.
    void give_up();

    // All round trips are measured, or there is no connection.
    bool settled() const { return !problem_.empty() || answers_ == round_trips; }

    SentTo result() const { return {node_, problem_, round_trip_}; }

  private:
    bool sends(Clock::time_point now) const { return end_ > now && problem_.empty(); }
    void begin();
    void ask();
    void hear_answer();
    void write(std::string_view text);

    std::uint32_t node_;
    std::string greeting_;
    Socket socket_;
    bool connected_ = false;
    std::string problem_;
    std::uint32_t answers_ = 0;
    Clock::time_point asked_;
    double round_trip_ = 0;  // seconds
    Clock::time_point end_;  // of the stream; the epoch: there is none yet
};

}  // namespace distgpu
