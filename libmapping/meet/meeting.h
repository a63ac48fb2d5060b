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

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "base/secret.h"
#include "meet/proof.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
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

    Result<bool> greet_next(const Socket& listener);
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

}  // namespace distgpu
