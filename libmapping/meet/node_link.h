// The connection of a node's first rank with rank 0, which stays after its report, for what follows
// line by line in both directions. Each line is proven as the report was.
#pragma once

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "base/secret.h"
#include "meet/proof.h"

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

class NodeLink {
  public:
    NodeLink(Socket socket, Proof proof, std::optional<Secret> secret, std::string challenge)
        : socket_(std::move(socket)),
          proof_(proof),
          secret_(secret),
          challenge_(std::move(challenge)) {}

    // Two ends in one process, for rank 0's own node. Nothing: the kernel gave no socket.
    static std::optional<std::pair<NodeLink, NodeLink>> within_process();

    int fd() const { return socket_.fd(); }
    bool is_open() const { return socket_.is_open(); }

    // False: it could not be sent, or proven; the link is then closed.
    bool send(std::string_view line, Deadline deadline);

    // Takes what has arrived; closes the link where the other end did, or sent too much.
    void take_arrived();

    // The next whole line that arrived, without its proof. One that is not proven closes the link.
    std::optional<std::string> next_line();

    // The next one, which may still be on its way. Nothing: none by the deadline, or closed.
    std::optional<std::string> wait_for_line(Deadline deadline);

  private:
    Socket socket_;
    Proof proof_;
    std::optional<Secret> secret_;
    std::string challenge_;
    std::string arrived_;
};

}  // namespace distgpu
