// Whether a step runs in Slurm's own kind of container, srun --container: srun shows it in no SPANK
// item.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

// `arguments`: srun's command line, whose last `program_arguments` are the program's.
// `variable`: SLURM_CONTAINER, the option's twin.
bool names_container(std::span<const std::string> arguments, std::size_t program_arguments,
                     std::string_view variable);

}  // namespace distgpu
