// The options of the launchers that start a node's processes, as far as they say something of the
// step: it may be told otherwise there than Slurm has it.
#pragma once

#include "mapping/frameworks/framework.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A program or an option that does not fit the mode or the step.
struct Misfit {
    Error error;
    bool impossible = false;  // else: it may be meant
};

// What an option's value is compared with.
enum class OptionMeaning {
    nodes,               // the number of nodes
    node_range,          // the same, or MIN:MAX
    own_rank,            // differs between the nodes, which have one command line
    processes,           // of each node
    processes_of_world,  // of each node; the mode's variables already count all of them
    processes_in_all,    // on all nodes
    world,               // the same, as the mode's variables count them
    address,             // of rank 0's node
    endpoint,            // the same, and a port
    port,                // on rank 0's node
    one_node,            // a switch: each node is on its own
    others,              // judged by the launcher's own record
};

struct LauncherOption {
    std::string_view name;  // with dashes between its words, "--nnodes"
    OptionMeaning meaning;
    std::string_view letter{};  // its short form, "-n"
    // What to write; empty: it is to be left out, as the mode's variables say the same.
    std::string_view instead{};
};

struct GivenOption {
    const LauncherOption* option;
    std::string text;                  // "--nnodes=1"
    std::optional<std::string> value;  // nothing: only a shell knows it
};

struct GivenOptions {
    std::vector<GivenOption> options;
    bool complete = true;  // false: a word such as $OPTIONS may hold more

    // The last with this name, which is the one that counts; null: it is not there.
    const GivenOption* find(std::string_view name) const;
    bool lacks(std::string_view name) const { return complete && find(name) == nullptr; }
};

struct LauncherOptions {
    std::span<const LauncherOption> options;
    // Those without a value, between blanks; what follows others is their value.
    std::string_view flags;
    bool abbreviated = true;         // as Python's argparse takes them
    bool behind_the_script = false;  // it reads its options there too
    // Takes out the options that another one makes void; null: none does.
    void (*settle)(GivenOptions&) = nullptr;
    // What else does not fit; null: nothing.
    std::optional<Misfit> (*judge)(const StepView&, const GivenOptions&) = nullptr;
};

// Reads what stands behind the launcher, up to its script.
GivenOptions read_options(const LauncherOptions& launcher, std::span<const std::string> words);

}  // namespace distgpu
