// How the processes of a step find and believe each other. One of them, the host, listens; each
// other one, a guest, connects to it and introduces itself. Both prove that they are of the step
// (proof.h) before they believe anything: one line each,
//
//     host     distgpu PURPOSE STEP PROOF CHALLENGE
//     guest    CHALLENGE TEXT    proven by the host's challenge
//     host     welcome           proven by the guest's
//
// of which no purpose, step, proof or challenge has a space in it. `distgpu check` (TEXT is a
// rank's report), `distgpu exec` (a node) and nccl-scaling (a rank) meet so.
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

struct Meeting {
    std::string purpose;             // "check", by which nobody takes another program for the host
    std::string step;                // "42.0"
    std::optional<Secret> secret{};  // nothing: no plugin prepared the step
};

// One that has proven to be of the step.
struct Guest {
    Socket socket;
    std::string text;            // as it introduced itself
    std::string challenge;       // the host's to it, by which further lines can be proven
    std::string back_challenge;  // its own
    std::chrono::system_clock::time_point greeted;
};

// Nobody's silence keeps it from the others, or its process from its other work: nothing here
// waits.
class Host {
  public:
    // Asks MUNGE where the step has no secret.
    explicit Host(Meeting meeting);

    // What every guest has to bring.
    Proof proof() const { return proof_; }
    // Connections that said something else. Who says nothing has only looked whether the port is
    // open.
    std::uint32_t strangers() const { return strangers_; }

    // Adds the connections to wait for; the listeners are the caller's.
    void add_to(std::vector<pollfd>& waiting) const;
    // When introduced() is to be called though nothing has come, at most `deadline`: it closes who
    // says nothing.
    Deadline next_turn(Deadline deadline) const {
        return visitors_.empty() ? deadline : std::min(deadline, visitors_.front().until);
    }

    // Takes the connections that wait at a listener, up to 64, so that a flood leaves time for the
    // rest. Error: this process has too many files open, though no visitor waits any more.
    std::optional<Error> greet(const Socket& listener);

    // Who has introduced itself since the last call. What its text says is the caller's to judge:
    // without a welcome it is sent away when it goes out of scope.
    std::vector<Guest> introduced();

    // False: it cannot be sent, or proven; the guest comes again.
    bool welcome(const Guest& guest) const;

  private:
    // A connection that has not introduced itself yet.
    struct Visitor {
        Socket socket;
        std::string challenge;
        std::chrono::system_clock::time_point greeted;
        Deadline until;
        std::string received{};
    };

    std::optional<Guest> hear(Visitor& visitor);
    std::optional<Guest> guest_of(Visitor visitor, std::string_view line) const;

    Meeting meeting_;
    Proof proof_;
    std::uint32_t strangers_ = 0;
    std::deque<Visitor> visitors_;  // the one that has waited longest first
};

// A connection with the host. Before introduce() nothing shows that it is the step's.
struct Invitation {
    Socket socket;
    std::string where;  // "node01:24608"
    Proof proof = Proof::none;
    std::string challenge{};
};

// One attempt, of at most 3 s: the host may begin later, or somebody else listen there.
// Errors (object: HOST:PORT): nobody answers, or another program; the host and this process cannot
// give the same proof.
Result<Invitation> reach(const Meeting& meeting, const std::string& host, std::uint16_t port,
                         Deadline deadline);

// Returns the invitation, which is now one of the step's own host. Precondition: `text` has no
// newline, and with a challenge before it at most longest_text bytes.
// Errors (object: HOST:PORT): the host did not take it, or is not of the step.
Result<Invitation> introduce(Invitation invitation, const Meeting& meeting, std::string_view text,
                             Deadline deadline);

// The connection of a node's first rank with rank 0, which stays after its report, for what follows
// line by line in both directions. Each line is proven as the report was.

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
