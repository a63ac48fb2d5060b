// Looks at a rank's own part of its node when the run begins and when it ends: what was counted in
// between belongs to the run.
#pragma once

#include "facts/port.h"
#include "facts/rank_facts.h"
#include "node/machine.h"

#include <string>

namespace distgpu::scaling {

class Watch {
  public:
    // `port`: see port_of_rank(); may be empty.
    explicit Watch(std::string port, MachineRoots roots = {});

    RankFacts end() const;

  private:
    std::string port_;
    MachineRoots roots_;
    PortReading begin_;
};

}  // namespace distgpu::scaling
