// The launchers that scripts start by hand, and which of their options a mode of distgpu sets
// instead.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

using Names = std::span<const std::string_view>;

struct LauncherRecord {
    enum class Kind {
        reads_variables,   // of its node's processes; stays, and gets what it needs from the mode
        needs_options,     // the same, but it reads options only
        starts_each_rank,  // of its node, after ssh to it; srun does so in its place
        starts_all_nodes,  // the same, with MPI's or other means
    };
    Names commands;         // "torchrun", "python -m torch.distributed.run"
    std::string_view mode;  // of --distgpu
    Kind kind;
    Names with_value;  // options that go, with dashes as "--rdzv-backend", which "_" may replace
    Names flags;       // the same without a value
    Names kept_flags;  // that stay and have no value: what follows them is the script
    Names parameters;  // options of MPI itself, NAME VALUE
};

// A command line of a launcher, by the places of its words.
struct LauncherCall {
    const LauncherRecord* record = nullptr;
    std::size_t begin = 0;                      // of the launcher's words
    std::size_t options = 0;                    // the first word behind them
    std::size_t program = 0;                    // the first behind its options
    std::vector<std::size_t> replaced;          // words that go
    std::map<std::string, std::string> values;  // of the options that go, by name
    std::vector<std::size_t> exported;          // NAME=VALUE of mpirun -x
    std::vector<std::size_t> parameters;        // names, each with its value behind it
    std::vector<std::size_t> others;            // options in no list

    bool has(const std::string& option) const { return values.contains(option); }
    std::string value(const std::string& option) const {
        return has(option) ? values.at(option) : "";
    }
};

// `words[begin]` is the program. Nothing: no launcher of those above.
std::optional<LauncherCall> read_launcher(const std::vector<std::string>& words, std::size_t begin);

}  // namespace distgpu
