// What the script of a job starts, as far as its text shows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

// Whether nothing in the script can start a step: neither srun, mpirun, mpiexec, distgpu or the
// like, nor another script, nor a command that only the job knows ("$@"), nor what it sources or
// starts of the files that this process sees, in its folder and the folders of `path`, its PATH;
// what it sources and is not there may. Comments and an environment's `activate` do not count.
bool starts_no_step(std::string_view script, std::string_view path);

struct BatchScript {
    std::string name;  // for a message: "train.sbatch", "--wrap", "the script"
    std::string text;
};

// Finds the script by sbatch's command line, or on its standard input, where that is a file.
// Nothing: it is not clear which it is, or it cannot be read again.
std::optional<BatchScript> find_batch_script(std::span<const std::string> arguments);

// What salloc starts, by its command line, where that is Python. Nothing: anything else, such as
// a shell; where salloc's options end shows only by what is known not to be one.
std::optional<BatchScript> find_python_of_salloc(std::span<const std::string> arguments);

}  // namespace distgpu
