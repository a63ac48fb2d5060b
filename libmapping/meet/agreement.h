// How a node's first rank asks its other ranks whether they are still there, and tells them the
// verdict of the step: over a socket of this machine (unix(7), abstract), whatever containers they
// are in. Who is at the other end is asked of the kernel: only processes of the same user are
// heard.
#pragma once

#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "base/secret.h"

#include <set>
#include <vector>

namespace distgpu {

// The socket's name: with the secret of the step no other user can take it first.
std::string agreement_name(const std::string& step, std::uint32_t node,
                           const std::optional<Secret>& secret);

// How long a rank that has reported may take to answer.
inline constexpr std::chrono::seconds longest_answer{3};

// The first rank's side, which listens by that name.
class OtherRanks {
  public:
    OtherRanks(Socket listener, std::set<std::uint32_t> ranks)
        : listener_(std::move(listener)), ranks_(std::move(ranks)) {}

    // Whether they are there; some may still be on their way. Returns those that did not answer by
    // the deadline.
    std::set<std::uint32_t> ask(Deadline deadline);

    // Those that were not asked may still be on their way until the deadline.
    void announce(int exit_status, Deadline deadline);

  private:
    // The next one that comes; false: none did by the deadline.
    bool take_next(Deadline deadline);

    Socket listener_;
    std::set<std::uint32_t> ranks_;
    bool asked_ = false;
    std::vector<Socket> taken_;
};

// Answers for `rank` until the verdict comes. `meeting`: until when the first rank may begin to
// listen. Nothing: it did not, or told none by the deadline.
std::optional<int> await_verdict(const std::string& name, std::uint32_t rank, Deadline meeting,
                                 Deadline deadline);

}  // namespace distgpu
