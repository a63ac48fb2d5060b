// What the user wrote on srun's command line and no SPANK item shows.
//
// `arguments`: srun's command line, whose last `program_arguments` are the program's. `variable`:
// the value of the variable that is the option's twin, or an empty text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace distgpu
