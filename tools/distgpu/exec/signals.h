// The signals that `distgpu exec` takes instead of ending by them.
#pragma once

#include "base/io/tcp/socket.h"

#include <optional>

namespace distgpu {

// Whether it asks for an end, as Slurm's and a terminal's do.
bool asks_to_stop(int signal);

class Signals {
  public:
    // Takes those that ask for an end, the user's own two, and that of a child's end.
    Signals();

    int fd() const { return descriptor_.fd(); }
    // The next one that came; nothing: none.
    std::optional<int> next() const;

  private:
    Socket descriptor_;
};

}  // namespace distgpu
