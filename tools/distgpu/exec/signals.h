// The signals that `distgpu exec` takes instead of ending by them, and which of them its program
// still has to get.
#pragma once

#include "base/io/deadline.h"
#include "base/io/unique_fd.h"
#include "exec/signal_witness.h"

#include <chrono>
#include <optional>
#include <poll.h>
#include <vector>

namespace distgpu {

// Whether it asks for an end, as Slurm's and a terminal's do.
bool asks_to_stop(int signal);

class Signals {
  public:
    // Takes those that ask for an end, the user's own two, and that of a child's end.
    Signals();

    // To wait for the next one.
    int fd() const { return descriptor_.fd(); }
    void add_to(std::vector<pollfd>& waiting) const;
    // The next one that came; nothing: none.
    std::optional<int> next() const;

    // The program is to get this one, which came to this process.
    void hand_on(int signal);
    // The same of one that came to another node, and may still come here.
    void hand_on_from_afar(int signal);
    // Those that the program is to get now: it did not get them itself.
    std::vector<int> due();

  private:
    struct Pending {
        int signal = 0;
        Deadline due{};
        bool is_from_afar = false;
    };
    struct Seen {
        int signal = 0;
        Deadline forgotten{};
    };

    bool was_seen(int signal);

    UniqueFd descriptor_;
    SignalWitness witness_;
    std::vector<Pending> pending_;
    std::vector<Seen> seen_;  // by the witness
};

}  // namespace distgpu
