// How the processes of a step find and authenticate each other. One process, the server, listens;
// every other one, a client, connects to it. Both prove that they belong to the step (proof.h)
// before either trusts the other, in one line each:
//
//     server   distgpu PURPOSE STEP PROOF CHALLENGE
//     client   CHALLENGE TEXT    signed with the server's challenge
//     server   welcome           signed with the client's
//
// No purpose, step, proof or challenge has a space in it. Used by `distgpu check` (TEXT is a rank's
// report), `distgpu exec` (a node) and nccl-scaling (a rank).
#pragma once

#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "base/secret.h"
#include "meet/proof.h"

#include <algorithm>
#include <deque>
#include <poll.h>
#include <vector>

namespace distgpu {

// What both ends must agree on.
struct Handshake {
    std::string purpose;             // "check"; tells the programs of distgpu apart
    std::string step;                // "42.0"
    std::optional<Secret> secret{};  // nullopt if the plugin did not prepare the step
};

// A client that has proven to belong to the step.
struct VerifiedClient {
    Socket socket;
    std::string text;              // that it sent with its proof
    std::string challenge;         // the server's, with which later lines are signed too
    std::string client_challenge;  // the client's
    std::chrono::system_clock::time_point greeted_at;
};

// Nothing here waits, so a silent client delays neither the others nor the rest of the process.
class HandshakeServer {
  public:
    // Asks MUNGE if the step has no secret.
    explicit HandshakeServer(Handshake handshake);

    // The proof that every client must give.
    Proof proof() const { return proof_; }
    // How many connections sent something wrong. One that sends nothing does not count: it may only
    // have tested whether the port is open.
    std::uint32_t rejected_count() const { return rejected_count_; }

    // Adds the pending connections to `waiting`; the caller adds its listeners.
    void add_to(std::vector<pollfd>& waiting) const;
    // When to call verified_clients() at the latest, even if nothing has arrived, because it closes
    // silent connections; at most `deadline`.
    Deadline next_check(Deadline deadline) const {
        return pending_.empty() ? deadline : std::min(deadline, pending_.front().deadline);
    }

    // Accepts up to 64 waiting connections, so that a flood leaves time for other work. Error: this
    // process has too many open files, even with no pending connection left.
    std::optional<Error> accept_clients(const Socket& listener);

    // The clients that were verified since the last call. The caller decides by their text whether
    // to welcome them; without a welcome they are rejected when they go out of scope.
    std::vector<VerifiedClient> verified_clients();

    // False if it cannot be signed or sent; the client then connects again.
    bool send_welcome(const VerifiedClient& client) const;

  private:
    struct PendingClient {
        Socket socket;
        std::string challenge;
        std::chrono::system_clock::time_point greeted_at;
        Deadline deadline;
        std::string received{};
    };

    std::optional<VerifiedClient> receive_from(PendingClient& client);
    std::optional<VerifiedClient> verify(PendingClient client, std::string_view line) const;

    Handshake handshake_;
    Proof proof_;
    std::uint32_t rejected_count_ = 0;
    std::deque<PendingClient> pending_;  // the oldest first
};

// A client's connection to the server. Until authenticate() succeeds, the server is not verified.
struct ServerConnection {
    Socket socket;
    std::string where;  // "node01:24608"
    Proof proof = Proof::none;
    std::string challenge{};
};

// Makes one attempt of at most 3 s; the caller repeats it, as the server may start later.
// Errors (object: HOST:PORT): no answer; the answer of another program; the server and this process
// cannot give the same proof.
Result<ServerConnection> connect_to_server(const Handshake& handshake, const std::string& host,
                                           std::uint16_t port, Deadline deadline);

// Sends `text` and returns the connection, whose server is now verified. Precondition: `text` has
// no newline, and with a challenge before it at most max_signed_text bytes. Errors (object:
// HOST:PORT): the server rejected it, or does not belong to the step.
Result<ServerConnection> authenticate(ServerConnection connection, const Handshake& handshake,
                                      std::string_view text, Deadline deadline);

// The connection of a node's first rank with rank 0 after its report, for lines in both directions.
// Each line is signed in the same way as the report.
class NodeLink {
  public:
    NodeLink(Socket socket, Proof proof, std::optional<Secret> secret, std::string challenge)
        : socket_(std::move(socket)),
          proof_(proof),
          secret_(secret),
          challenge_(std::move(challenge)) {}

    // Both ends within one process, for rank 0's own node. nullopt if the kernel gives no sockets.
    static std::optional<std::pair<NodeLink, NodeLink>> connected_pair();

    int fd() const { return socket_.fd(); }
    bool is_open() const { return socket_.is_open(); }

    // Returns false and closes the link if the line cannot be signed or sent.
    bool send(std::string_view line, Deadline deadline);

    // Reads what has arrived. Closes the link if the other end did, or sent too much.
    void receive_available();

    // The next complete line that has arrived, without its proof. A wrong proof closes the link.
    std::optional<std::string> next_line();

    // The same, but waits; nullopt if there is no line by the deadline, or the link is closed.
    std::optional<std::string> wait_for_line(Deadline deadline);

  private:
    Socket socket_;
    Proof proof_;
    std::optional<Secret> secret_;
    std::string challenge_;
    std::string received_;
};

}  // namespace distgpu
