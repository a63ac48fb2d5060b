// Finds a job's batch script, and tests by its text whether it may start a step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

// Whether nothing in the script can start a step: no srun, mpirun, mpiexec, distgpu or the like, no
// other script, no command that only the job knows ("$@"), and no file that it sources or starts.
// Such files are read from this process's folder and the folders of `path`, its PATH; a sourced
// file that cannot be read may start steps. Comments and an environment's `activate` do not count.
bool starts_no_step(std::string_view script, std::string_view path);

struct BatchScript {
    std::string name;  // for a message: "train.sbatch", "--wrap", "the script"
    std::string text;
};

// Finds the script in sbatch's command line, or on standard input if that is a file. nullopt if it
// is unclear which file it is, or if it cannot be read again.
std::optional<BatchScript> find_batch_script(std::span<const std::string> arguments);

// Whether its #SBATCH lines have the option, named without dashes.
bool has_option(std::string_view script, std::string_view name);

// The program in salloc's command line, if it is Python. nullopt for anything else, such as a
// shell: without a known name it is unclear where salloc's options end.
std::optional<BatchScript> find_salloc_python(std::span<const std::string> arguments);

}  // namespace distgpu
