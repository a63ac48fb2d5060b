// What the user wrote on srun's command line and no SPANK item shows.
//
// `arguments`: srun's command line, whose last `program_arguments` are the program's. `variable`:
// the value of the variable that is the option's twin, or an empty text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Whether the user chose the CPUs of the step: --cpu-bind or SLURM_CPU_BIND, whose `verbose` and
// `quiet` alone choose nothing. On the nodes a chosen binding and Slurm's default both read
// "mask_cpu:" (22.05).
bool chooses_cpus(std::span<const std::string> arguments, std::size_t program_arguments,
                  std::string_view variable);

// Whether the step runs in Slurm's own kind of container: --container or SLURM_CONTAINER. pyxis's
// options begin with --container- and are others.
bool names_container(std::span<const std::string> arguments, std::size_t program_arguments,
                     std::string_view variable);

// Whether a file says which tasks run which program: --multi-prog. Then SPANK shows one word more
// than the command line has, the file's text.
bool has_programs_in_file(std::span<const std::string> arguments, std::size_t program_arguments);

// The programs in the text of such a file, with their arguments: "0-3 python3 train.py".
std::vector<std::vector<std::string>> programs_in(std::string_view text);

// What of the step's size the user chose himself.
struct ChosenSize {
    bool nodes = false;  // how many, or which: -N, -w, -x, --relative, another job's
    bool tasks = false;
    bool gpus = false;

    bool operator==(const ChosenSize&) const = default;
};
ChosenSize chosen_size(std::span<const std::string> arguments, std::size_t program_arguments);

// Whether the line itself says how many tasks there are in all: --ntasks.
bool gives_ntasks(std::span<const std::string> arguments, std::size_t program_arguments);

// Whether --distgpu stands on the line itself.
bool asks_for_distgpu(std::span<const std::string> arguments, std::size_t program_arguments);

// Whether the tasks get srun's own environment as it is: no --export, --export-file or
// SLURM_EXPORT_ENV but ALL.
bool hands_on_environment(std::span<const std::string> arguments, std::size_t program_arguments,
                          std::string_view variable);

// Whether --export or SLURM_EXPORT_ENV gives the tasks a value for the variable of this name, over
// which srun would put its own.
bool export_sets(std::span<const std::string> arguments, std::size_t program_arguments,
                 std::string_view variable, std::string_view name);

// How many GPUs --gpus or -G asks for, which Slurm deals to the nodes as it likes: "6", or
// "h100:6". Nothing: it is not given, or names several types. SLURM_GPUS, its twin, reaches the
// tasks.
std::optional<std::uint32_t> asked_gpus(std::span<const std::string> arguments,
                                        std::size_t program_arguments);

}  // namespace distgpu
