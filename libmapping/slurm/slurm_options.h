// Parses command lines with the options of srun and sbatch, 22.05 to 26.05, and of pyxis, and finds
// what the user chose with them that no SPANK item shows. The value of another option, as in
// `--comment "-n 4"`, is never mistaken for an option.
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
        lacks_value,  // the line ends before its value
        unknown,      // another plugin's, or misspelt; unless it has a '=', the next word counts as
                      // its value if that is not an option
    };

    std::string name;   // in full, without dashes: "nodes" for "-N2"; as written if unknown
    std::string value;  // empty if it has none
    std::string word;   // as written: "-N2"
    Kind kind = Kind::known;

    // Whether it is unknown if the next word is its value.
    bool may_take_next_word() const;

    bool operator==(const SlurmOption&) const = default;
};

struct SlurmOptions {
    std::vector<SlurmOption> list;

    // The value of the last known option of this name, which is the one that Slurm uses; nullopt if
    // there is none.
    std::optional<std::string_view> value(std::string_view name) const;
    bool has(std::string_view name) const { return value(name).has_value(); }
};

struct SlurmLine {
    SlurmOptions options;
    std::size_t program = 0;  // index of the first word after them

    // Whether the program is certain: there is no unknown option whose value may be the program or
    // another option.
    bool has_certain_program() const;
};

// Parses the words after the first, which is the command, as getopt_long(3) does in Slurm: "-N2",
// "-luN 2", "--nodes=2", "--nodes 2", unambiguous prefixes of names, "--". An option with several
// names gets the usual one: "ntasks-per-node" for "--tasks-per-node".
// Source: slurm_option_table_create() and the table above it, slurm_opt.c.
SlurmLine parse_slurm_line(std::span<const std::string> words, SlurmCommand command);

// The number of GPUs in a value of --gpus, on all nodes together: "6", "h100:6". nullopt for
// several types, or an invalid value.
std::optional<std::uint32_t> gpu_count(std::string_view value);

// The option of `command` most similar to a misspelt one, without dashes.
std::optional<std::string_view> nearest_slurm_option(std::string_view name, SlurmCommand command);

// ---- srun's options. `variable`: the value of the option's environment variable, may be empty.

// The options on srun's command line, of all components of a heterogeneous step.
// `program_arguments`: SPANK's number of words of the program, with --multi-prog including the
// file's text. 0 if unknown, because the step is not created yet; then an unknown option may hide
// where the program begins.
SlurmOptions srun_options(std::span<const std::string> command_line,
                          std::size_t program_arguments = 0);

// Whether the user chose the CPUs of the step by --cpu-bind or SLURM_CPU_BIND; `verbose` and
// `quiet` alone do not choose any. On the nodes this cannot be seen: a chosen binding and Slurm's
// default both read "mask_cpu:" (22.05).
bool chooses_cpus(const SlurmOptions& options, std::string_view variable);

// The programs with their arguments in the text of a file for --multi-prog: "0-3 python3 train.py".
std::vector<std::vector<std::string>> programs_in(std::string_view text);

// Which parts of the step's size the user chose.
struct ChosenSize {
    bool nodes = false;  // how many, or which: -N, -w, -x, --relative, another job's
    bool tasks = false;
    bool gpus = false;

    bool operator==(const ChosenSize&) const = default;
};
ChosenSize chosen_size(const SlurmOptions& options);

// Whether the tasks get srun's full environment: no --export or SLURM_EXPORT_ENV, or only ALL.
bool passes_full_environment(const SlurmOptions& options, std::string_view variable);

// Whether --export or SLURM_EXPORT_ENV sets the variable of this name for the tasks. srun's own
// value would override it.
bool export_sets(const SlurmOptions& options, std::string_view variable, std::string_view name);

// The number of GPUs that --gpus requests, which Slurm may distribute unevenly over the nodes: "6",
// or "h100:6". nullopt if not given, or with several types. SLURM_GPUS reaches the tasks.
std::optional<std::uint32_t> requested_gpus(const SlurmOptions& options);

// Whether the step's program is a daemon of Open MPI, PRRTE or MPICH's Hydra, which mpirun starts
// with srun, and so not the user's program. `arguments`: as srun got them.
bool is_mpi_daemon(std::span<const std::string> arguments);

// The same for srun's whole command line, in which any word may be the program.
bool starts_mpi_daemon(std::span<const std::string> command_line);

}  // namespace distgpu
