// The connection of every node's `distgpu exec` with that of rank 0's node, by which one node's end
// is known to all. They meet as meet/meeting.h says; then each line is a word and a number.
#pragma once

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "meet/meeting.h"

#include <cstdint>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

// The step whose nodes are connected.
struct ControlledStep {
    Meeting meeting;
    std::uint32_t nodes = 1;
    std::string head;        // the address of rank 0's node
    std::uint16_t port = 0;  // on which it listens for the others
};

struct Message {
    enum class Kind : std::uint8_t {
        up,     // to the head: this node's part is ready
        start,  // from the head: begin; `text` goes with it
        ended,  // this node's part ended by itself, with status `number`
        stop,   // the signal `number` came
        end,    // from the head: the step is over
        lost,   // the connection broke
    };
    Kind kind = Kind::lost;
    int number = 0;
    std::string text{};

    bool operator==(const Message&) const = default;
};

// A node at the other end.
class Peer {
  public:
    explicit Peer(Socket socket) : socket_(std::move(socket)) {}

    const Socket& socket() const { return socket_; }
    bool is_open() const { return socket_.is_open(); }

    // What has come. The last one is `lost` where the connection broke.
    std::vector<Message> receive();

    // Does nothing on a broken connection.
    void send(const Message& message);

  private:
    Socket socket_;
    std::string received_;
};

// The end of a node that is not the head's. Error: there is no head of this step until the
// deadline. One attempt, of at most a second, so that a signal can be seen between two of them.
Result<Peer> reach_head(const ControlledStep& step, std::uint32_t node);

// The head's end.
class Head {
  public:
    // Errors: the port is taken.
    static Result<Head> listen(const ControlledStep& step);

    Proof proof() const { return host_.proof(); }

    // Adds what to wait for.
    void add_to(std::vector<pollfd>& waiting) const;

    // Which nodes have shown since the last call that they are of this step. Waits for nothing.
    std::vector<std::pair<std::uint32_t, Peer>> take();

  private:
    Head(Socket listener, const ControlledStep& step)
        : listener_(std::move(listener)), nodes_(step.nodes), host_(step.meeting) {}

    Socket listener_;
    std::uint32_t nodes_;
    Host host_;
};

}  // namespace distgpu
