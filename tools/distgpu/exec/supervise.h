// One node's part of a step whose end somebody has to see to: a server on every node, or programs
// beside the user's own. `distgpu exec` stays as the parent of what it starts, is connected with
// that of rank 0's node, and ends when all that it started has ended.
#pragma once

#include "base/exit_code.h"
#include "exec/control.h"
#include "exec/parts.h"
#include "exec/readiness.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct Supervision {
    std::string mode;                      // "vllm", for messages
    std::vector<std::string> node_names;   // by their ranks
    std::uint32_t node = 0;                // whose part this is
    ControlledStep step;                   // how the nodes are connected
    std::uint16_t first_port = 0;          // of the step, where rank 0's node serves
    PartCommands parts;                    // what this node runs
    std::optional<HealthCheck> health{};   // on rank 0's node: who answers when it is ready
    std::function<void()> end_step{};      // by Slurm; nothing: nobody can
    std::chrono::seconds join_limit{600};  // in which all nodes have to be there
    std::chrono::seconds usual_start{30};  // after which the user is told who is waited for
    std::chrono::seconds late_limit{10};   // for those who come when the step has ended
    std::chrono::seconds grace{10};        // from the request to end until the kill
};

// Without a companion any end of a node's program ends the step, and is a failure unless a signal
// asked for it. With one, the program starts when the companions of all nodes are ready, and its
// end is the step's, with its status; an earlier end of a companion is a failure. Result: the
// status to end with; that of rank 0's node is the step's.
ExitCode supervise(const Supervision& supervision);

}  // namespace distgpu
