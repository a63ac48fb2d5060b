// The launchers that start a node's processes: whether the program of a step is one that its mode
// leaves the processes to, and what its options say of the step, which may differ from Slurm.
#pragma once

#include "mapping/frameworks/framework.h"

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
    // What to write; empty: it is to be left out, as the mode's variables say the same.
    std::string_view instead{};
    std::string_view letter{};  // its short form, "-n"
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

// Judges step.facts.program, behind `distgpu exec`, programs such as `timeout 1h` and in the text
// of `bash -c`, by the records' `launchers` and `replaces`. Nothing: it fits, or does not show what
// it starts. A launcher counts as it is typed, by its path, and as a script or module of Python:
// "python3 -u -m torch.distributed.run".
std::optional<Misfit> program_misfit(const StepView& step);

// The mode's launcher that the program is or starts, with its options.
struct GivenLauncher {
    std::string_view name;  // as the record writes it
    GivenOptions options;
};
std::optional<GivenLauncher> given_launcher(const StepView& step);

// Whether the program is one of the launchers of the step's mode, or one of Python's where any may
// be the mode's.
bool is_launcher(const StepView& step);

}  // namespace distgpu
