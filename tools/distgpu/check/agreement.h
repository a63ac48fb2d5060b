// How the verdict of the step comes from a node's first rank to its other ranks: over a socket of
// this machine (unix(7), abstract), whatever containers they are in. Who is at the other end is
// asked of the kernel: only processes of the same user are heard.
#pragma once

#include "base/io/tcp/deadline.h"
#include "base/io/tcp/socket.h"
#include "base/secret.h"

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu {

// The socket's name: with the secret of the step no other user can take it first.
std::string agreement_name(const std::string& step, std::uint32_t node,
                           const std::optional<Secret>& secret);

// The first rank's ear; closed: the kernel gave none.
Socket listen_for_agreement(const std::string& name);

// Tells `others` ranks, which may still be on their way until the deadline.
void announce_verdict(const Socket& listener, std::uint32_t others, int exit_status,
                      Deadline deadline);

// `meeting`: until when the first rank may begin to listen. Nothing: it did not, or told none by
// the deadline.
std::optional<int> await_verdict(const std::string& name, Deadline meeting, Deadline deadline);

}  // namespace distgpu
