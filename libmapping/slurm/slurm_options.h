// The options of srun and sbatch, 22.05 to 26.05, with those of pyxis, and how they are read from a
// command line. Everything that looks for one asks here, so that the value of another option, as in
// `--comment "-n 4"`, is never taken for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

enum class SlurmCommand { srun, sbatch };

struct SlurmOption {
    enum class Kind {
        known,
        lacks_value,  // the line ends where its value should stand
        unknown,      // another plugin's or misspelt; the next word counts as its value if it
                      // stands alone and no option follows
    };

    std::string name;   // in full, without dashes: "nodes" of "-N2"; an unknown one as written
    std::string value;  // empty: it has none
    std::string word;   // in which it stands: "-N2"
    Kind kind = Kind::known;

    // Whether only the plugin that has it knows if the next word is its value.
    bool may_take_next_word() const;

    bool operator==(const SlurmOption&) const = default;
};

struct SlurmOptions {
    std::vector<SlurmOption> list;

    // The value of the last known one of this name, which is what Slurm takes. Nothing: it is not
    // there.
    std::optional<std::string_view> value(std::string_view name) const;
    bool has(std::string_view name) const { return value(name).has_value(); }
};

struct SlurmLine {
    SlurmOptions options;
    std::size_t program = 0;  // the place of the first word behind them

    // Whether the program is certain: no unknown option may have it, or an option that follows, for
    // its value.
    bool has_certain_program() const;
};

// Reads the words behind the first, which is the command, as getopt_long(3) does in Slurm: "-N2",
// "-luN 2", "--nodes=2", "--nodes 2", every beginning of a name that no other option shares, "--".
// Where names are one option, the usual one is told: "ntasks-per-node" of "--tasks-per-node".
// Source: slurm_option_table_create() and the table above it, slurm_opt.c.
SlurmLine parse_slurm_line(std::span<const std::string> words, SlurmCommand command);

// How many GPUs a value of --gpus asks for, on all nodes together: "6", "h100:6". Nothing: of
// several types, or no such value.
std::optional<std::uint32_t> gpu_count(std::string_view asked);

// The option of `command` that a misspelt one may be meant for, without dashes.
std::optional<std::string_view> nearest_slurm_option(std::string_view name, SlurmCommand command);

}  // namespace distgpu
