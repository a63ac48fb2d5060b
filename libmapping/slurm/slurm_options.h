// The options of srun and sbatch, 22.05 to 26.05, with those of pyxis: how they are read from a
// command line, and what the user chose by them that no SPANK item shows. The value of another
// option, as in `--comment "-n 4"`, is never taken for one.
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

// ---- What srun's options say. `variable`: the value of the variable that is the option's twin, or
// an empty text.

// The options on srun's command line, of all components of a heterogeneous step.
// `program_arguments`: how many words SPANK says that the program has, with --multi-prog the file's
// text too. 0: not known before the step is created; then an unknown option may hide where the
// program begins.
SlurmOptions srun_options(std::span<const std::string> command_line,
                          std::size_t program_arguments = 0);

// Whether the user chose the CPUs of the step: --cpu-bind or SLURM_CPU_BIND, whose `verbose` and
// `quiet` alone choose nothing. On the nodes a chosen binding and Slurm's default both read
// "mask_cpu:" (22.05).
bool chooses_cpus(const SlurmOptions& options, std::string_view variable);

// The programs in the text of a file for --multi-prog, with their arguments: "0-3 python3
// train.py".
std::vector<std::vector<std::string>> programs_in(std::string_view text);

// What of the step's size the user chose himself.
struct ChosenSize {
    bool nodes = false;  // how many, or which: -N, -w, -x, --relative, another job's
    bool tasks = false;
    bool gpus = false;

    bool operator==(const ChosenSize&) const = default;
};
ChosenSize chosen_size(const SlurmOptions& options);

// Whether the tasks get srun's own environment as it is: no --export or SLURM_EXPORT_ENV but ALL.
bool hands_on_environment(const SlurmOptions& options, std::string_view variable);

// Whether --export or SLURM_EXPORT_ENV gives the tasks a value for the variable of this name, over
// which srun would put its own.
bool export_sets(const SlurmOptions& options, std::string_view variable, std::string_view name);

// How many GPUs --gpus asks for, which Slurm deals to the nodes as it likes: "6", or "h100:6".
// Nothing: it is not given, or names several types. SLURM_GPUS, its twin, reaches the tasks.
std::optional<std::uint32_t> asked_gpus(const SlurmOptions& options);

// Whether the step's program is a daemon of Open MPI, PRRTE or MPICH's Hydra, which mpirun starts
// through srun: no task of the user's. `arguments` as srun got them; empty: no.
bool is_foreign_launcher(std::span<const std::string> arguments);

// The same of srun's own command line, on which any word may be the program.
bool starts_foreign_launcher(std::span<const std::string> command_line);

}  // namespace distgpu
