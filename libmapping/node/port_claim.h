// Ports that a step of this user's has on this node, from before its program listens there until
// its end: without it, two steps with one port= would both find it free, and their ranks would mix.
#pragma once

#include "base/io/socket.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// Kept as names of abstract Unix sockets that carry the user's id, so that they end with the last
// process that has them, and no two users share one. Whoever squats on another user's name does not
// keep that user from the port.
class PortClaims {
  public:
    enum class Heirs { none, programs };  // `programs`: what this process becomes keeps them

    explicit PortClaims(Heirs heirs) : heirs_(heirs) {}

    // `step`: "JOB.STEP", or another text for what Slurm did not start. Waits a second for a step
    // that is ending. Returns who has the port, "step JOB.STEP" where that is known; nothing: it is
    // this step's, or the machine gives no such name. The effective user is the one who claims.
    std::optional<std::string> take(std::uint16_t port, const std::string& step);

    // Gives all of them up, in whichever process shares them.
    void release();

  private:
    Heirs heirs_;
    std::vector<Socket> sockets_;
};

}  // namespace distgpu
