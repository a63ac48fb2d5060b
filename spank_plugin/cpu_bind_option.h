// Whether the user chose the CPUs of a step. srun shows it in no SPANK item, and on the nodes a
// chosen binding and Slurm's default both read "mask_cpu:" (22.05).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

// `arguments`: srun's command line, whose last `program_arguments` are the program's.
// `variable`: SLURM_CPU_BIND, the option's twin. `verbose` and `quiet` alone choose nothing.
bool chooses_cpus(std::span<const std::string> arguments, std::size_t program_arguments,
                  std::string_view variable);

}  // namespace distgpu
