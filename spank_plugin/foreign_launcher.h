// Steps that belong to another launcher: mpirun starts its daemons through
// srun, and those must not take themselves for the user's tasks.
#pragma once

#include <span>
#include <string>

namespace distgpu {

// Whether the step's program is the daemon of Open MPI, PRRTE or MPICH's Hydra.
// `arguments` as srun got them; empty: no.
bool is_foreign_launcher(std::span<const std::string> arguments);

// The same of srun's own command line, on which any word may be the program.
bool starts_foreign_launcher(std::span<const std::string> command_line);

}  // namespace distgpu
