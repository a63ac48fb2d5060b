// The contract between distgpu and a training framework: which variables a
// task gets, which inherited ones must go, and what the step has to look like.
// One framework is one constant record in its own file under
// libmapping/frameworks/; registry.cpp lists them. The SPEC parser, --distgpu=help
// and docs/variables.md all read these records.
#pragma once

#include <distgpu/ids.h>
#include <distgpu/result.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

class StepLayout;

// Everything a contract may turn into a variable's value, for one task.
struct TaskContext {
    GlobalRank rank;                     // 0 .. world_size-1
    std::uint32_t world_size = 0;        // tasks of the step
    LocalId local_rank;                  // 0 .. local_world_size-1
    std::uint32_t local_world_size = 0;  // tasks of the step on this node
    NodeRank node_rank;                  // 0 .. node_count-1
    std::uint32_t node_count = 0;
    std::string_view node_name;       // this node's host name, with the suffix of master=suffix:S
    std::string_view master_address;  // host name, IPv4 or bare IPv6 address
    std::uint16_t master_port = 0;
    std::uint32_t processes_per_node = 0;  // what a per-node launcher starts here
    std::string_view step_name;            // "JOBID.STEPID"
};

// One variable that a framework's tasks get.
struct SetVariable {
    std::string_view name;
    std::string_view meaning;  // for documentation: a phrase without a full stop
    std::string (*value)(const TaskContext&);
};

// Variables that must not reach the program although they were inherited.
struct UnsetVariable {
    std::string_view name;    // ends with '*' for every variable with that prefix
    std::string_view reason;  // for documentation: what goes wrong otherwise
};

struct Framework {
    std::string_view mode;     // the word in SPEC
    std::string_view summary;  // one line of help
    // The framework's own launcher runs once a node and starts the processes.
    bool launcher_per_node = false;
    // Ports after MASTER_PORT on rank 0's node that the framework listens on.
    std::uint16_t extra_ports = 0;
    std::span<const SetVariable> sets;
    std::span<const UnsetVariable> unsets;
    // Refuses a step that the framework cannot run in; null: any step will do.
    std::optional<Error> (*check_step)(const StepLayout&) = nullptr;
};

// All frameworks, in the order of the help text.
std::span<const Framework* const> frameworks();

// The framework whose mode is `mode`, or null.
const Framework* find_framework(std::string_view mode);

}  // namespace distgpu
