// Checks the program of a step: whether it is the launcher that the mode needs, and whether the
// launcher's options agree with the step.
#pragma once

#include "mapping/frameworks/framework.h"

namespace distgpu {

// A program or an option that does not fit the mode or the step.
struct Mismatch {
    Error error;
    bool is_refusal = false;  // false: it may be intended, so only warn
};

// What an option means, and so with what its value is compared.
enum class OptionMeaning {
    nodes,               // the number of nodes
    node_range,          // the same, or MIN:MAX
    node_rank,           // differs between the nodes, which run the same command line
    processes,           // number on each node
    processes_of_world,  // number on each node, from which the mode computes the world size
    processes_in_all,    // number on all nodes
    world,               // the same, which the mode also sets in a variable
    address,             // of rank 0's node
    endpoint,            // address and port of rank 0's node
    port,                // on rank 0's node
    one_node,            // a switch: each node runs alone
    custom,              // checked by LauncherOptions::find_mismatch
};

struct LauncherOption {
    Literal<32> name;  // with dashes between its words, "--nnodes"
    OptionMeaning meaning;
    // What to write instead; empty: nothing, because the mode sets it in variables.
    Literal<64> replacement{};
    Literal<4> letter{};  // its short form, "-n"
};

struct GivenOption {
    const LauncherOption* option;
    std::string text;                  // "--nnodes=1"
    std::optional<std::string> value;  // nullopt if a shell has yet to expand it
};

struct GivenOptions {
    std::vector<GivenOption> options;
    bool complete = true;  // false: a word such as $OPTIONS may contain more

    // The last option with this name, which is the effective one; null if there is none.
    const GivenOption* find(std::string_view name) const;
    bool lacks(std::string_view name) const { return complete && find(name) == nullptr; }
};

struct LauncherOptions {
    std::span<const LauncherOption> options;
    // Options without a value, separated by blanks. All others have one.
    Text flags;
    bool allows_abbreviations = true;  // as in Python's argparse
    bool reads_after_script = false;   // its options may also follow the script
    // Removes the options that another one overrides; null: there are none.
    void (*remove_overridden)(GivenOptions&) = nullptr;
    // Finds what is specific to this launcher; null: nothing is.
    std::optional<Mismatch> (*find_mismatch)(const StepView&, const GivenOptions&) = nullptr;
};

// Parses the words after the launcher, up to its script.
GivenOptions read_options(const LauncherOptions& launcher, std::span<const std::string> words);

// Compares step.facts.program with the records' `launchers` and `replaced_launchers`, also after
// `distgpu exec` and programs such as `timeout 1h`, and in the text of `bash -c`. nullopt if it
// fits, or if it does not show what it starts. Recognizes a launcher by its name, by its path, and
// as a Python script or module: "python3 -u -m torch.distributed.run".
std::optional<Mismatch> program_mismatch(const StepView& step);

// The mode's launcher, if the program is or starts it, with its options.
struct GivenLauncher {
    std::string_view name;  // as the record writes it
    GivenOptions options;
};
std::optional<GivenLauncher> given_launcher(const StepView& step);

// Whether the launchers go on if one of them fails, with the nodes that are left: --nnodes=MIN:MAX.
bool may_lose_nodes(const StepView& step);

// Whether the program is a launcher of the step's mode, or a Python program if the mode may start
// any.
bool is_launcher(const StepView& step);

}  // namespace distgpu
