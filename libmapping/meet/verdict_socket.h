// Connects the first rank of a node with the node's other ranks: it asks whether they still run,
// and sends them the verdict of the step. Uses an abstract Unix socket (unix(7)), which works
// across containers. Processes of other users are ignored, as the kernel identifies the peer.
#pragma once

#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "base/secret.h"

#include <set>
#include <vector>

namespace distgpu {

// The socket's name. With the step's secret in it no other user can occupy it first.
std::string verdict_socket_name(const std::string& step, std::uint32_t node,
                                const std::optional<Secret>& secret);

// How long a rank that has reported may take to answer.
inline constexpr std::chrono::seconds answer_timeout{3};

// The first rank's side, which listens.
class OtherLocalRanks {
  public:
    OtherLocalRanks(Socket listener, std::set<std::uint32_t> ranks)
        : listener_(std::move(listener)), ranks_(std::move(ranks)) {}

    // Asks the ranks whether they still run; some may not have connected yet. Returns those that
    // did not answer by the deadline.
    std::set<std::uint32_t> find_silent(Deadline deadline);

    // Without find_silent() before, waits until the deadline for ranks that have not connected yet.
    void send_verdict(int exit_status, Deadline deadline);

  private:
    // Waits for the next connection; false if there is none by the deadline.
    bool accept_next(Deadline deadline);

    Socket listener_;
    std::set<std::uint32_t> ranks_;
    bool asked_ = false;
    std::vector<Socket> connections_;
};

// Answers for `rank` until the verdict comes, and returns it. nullopt if the first rank did not
// listen by `listen_deadline`, or sent no verdict by the deadline.
std::optional<int> await_verdict(const std::string& name, std::uint32_t rank,
                                 Deadline listen_deadline, Deadline deadline);

}  // namespace distgpu
