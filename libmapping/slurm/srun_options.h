// What the user wrote on srun's command line and no SPANK item shows.
//
// `variable`: the value of the variable that is the option's twin, or an empty text.
#pragma once

#include "slurm/slurm_options.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The options on srun's command line, of all components of a heterogeneous step.
// `program_arguments`: how many words SPANK says that the program has; with --multi-prog that is
// one word more than the line has, the file's text. 0: not known yet, as before the step is
// created; then an unknown option of another plugin may hide where the program begins.
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

// mpirun starts its daemons through srun, and those must not take themselves for the user's tasks.
// Whether the step's program is the daemon of Open MPI, PRRTE or MPICH's Hydra.
// `arguments` as srun got them; empty: no.
bool is_foreign_launcher(std::span<const std::string> arguments);

// The same of srun's own command line, on which any word may be the program.
bool starts_foreign_launcher(std::span<const std::string> command_line);

}  // namespace distgpu
