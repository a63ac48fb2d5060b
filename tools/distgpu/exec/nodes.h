// The other nodes of the step, as this one's `distgpu exec` is connected with them: rank 0's node
// with all, each other one with that.
#pragma once

#include "exec/control.h"

#include <cstdint>
#include <map>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

class Nodes {
  public:
    // `own`: which of the nodes this is. `names`: of all of them, by their ranks.
    Nodes(ControlledStep step, std::uint32_t own, std::vector<std::string> names);

    bool is_head() const { return own_ == 0; }

    // Rank 0's node awaits the others. Error: the port is taken.
    std::optional<Error> open();
    // How the others have to prove that they are of the step; nothing: there are none.
    std::optional<Proof> proof() const;

    // Another node's way to rank 0's: one attempt.
    std::optional<Error> reach();

    // Adds what to wait for.
    void add_to(std::vector<pollfd>& waiting) const;

    // Of rank 0's node: who has come since the last call.
    std::vector<std::uint32_t> greet();
    // What the others said, each with its node.
    std::vector<std::pair<std::uint32_t, Message>> hear();
    void tell(std::uint32_t node, const Message& message) { peers_.at(node).send(message); }
    void tell_all(const Message& message);

    void set_up(std::uint32_t node) { up_.insert(node); }
    bool are_all_connected() const;
    bool are_all_up() const;
    // The names of those that are not up: "n1, n2 and 7 more".
    std::string missing() const;
    // The same of those that never came.
    std::string absent() const;

    const std::string& name(std::uint32_t node) const { return names_[node]; }
    const std::string& own_name() const { return names_[own_]; }
    std::uint32_t count() const { return step_.nodes; }

  private:
    template <typename Known>
    std::string names_without(const Known& known) const;

    ControlledStep step_;
    std::uint32_t own_;
    std::vector<std::string> names_;
    std::optional<Head> head_;             // where other nodes are to be awaited
    std::map<std::uint32_t, Peer> peers_;  // of rank 0's node all others, else that alone
    std::set<std::uint32_t> up_;           // of the others those that are ready
};

}  // namespace distgpu
