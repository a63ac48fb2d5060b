// What `distgpu explain` knows of a step's ranks on one node, as that node sends it.
#pragma once

#include "base/json_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct Variable {
    std::string name;
    std::string value;

    bool operator==(const Variable&) const = default;
};

// Something that is otherwise than it was, or was meant to be.
struct Change {
    enum class Since : std::uint8_t {
        start,    // when the task began
        given,    // what distgpu gave the task
        planned,  // what distgpu plans for this rank
        others,   // what most ranks of the step have
    };
    Since since = Since::start;
    std::string name;                   // of a variable, or "CPUs"
    std::optional<std::string> then{};  // nothing: it was not set
    std::optional<std::string> now{};   // nothing: it is not set

    bool operator==(const Change&) const = default;
};
std::string_view name_of(Change::Since since);  // as in the code

// A GPU that the rank may use.
struct GpuFacts {
    std::string name;     // as CUDA_VISIBLE_DEVICES or its like has it
    std::string pci{};    // empty: not known, and the rest with it
    std::string file{};   // "/dev/nvidia0"
    std::string model{};  // empty: not known

    bool operator==(const GpuFacts&) const = default;
};

struct RankFacts {
    std::uint32_t rank = 0;  // RANK, else Slurm's
    std::optional<std::uint32_t> local_rank{};
    std::optional<std::uint32_t> task{};  // Slurm's
    pid_t pid = 0;
    std::string command{};
    std::vector<std::string> launchers{};  // "811 bash wrap.sh", the task's first process first
    std::string cpus{};                    // on which it may run now: "0-3"
    std::string cpus_then{};               // on which its task began; empty: not known
    std::vector<GpuFacts> gpus{};          // those that its variables name
    std::vector<std::string> open_gpus{};  // device files that it holds open
    std::vector<Variable> variables{};     // by name
    std::vector<Change> changes{};
    bool is_hidden = false;  // its variables cannot be read

    bool operator==(const RankFacts&) const = default;
};

struct NodeFactsNow {
    std::string node;
    std::string spec{};        // by which distgpu prepared the tasks; empty: it did not
    bool by_variable = false;  // the ranks are those of RANK, else Slurm's tasks
    std::vector<RankFacts> ranks{};
    std::string problem{};  // why something is not known; empty: nothing

    bool operator==(const NodeFactsNow&) const = default;
};

JsonText to_json(const NodeFactsNow& facts);
JsonText to_json(const RankFacts& rank);  // one of its ranks

// Nothing: the text is not of this release.
std::optional<NodeFactsNow> read_node_facts_now(std::string_view text);

}  // namespace distgpu
