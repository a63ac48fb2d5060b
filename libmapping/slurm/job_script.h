// A batch script as sbatch sees it: its #SBATCH lines, and the steps that it starts. It is read,
// never run.
#pragma once

#include "base/result.h"
#include "slurm/shell_words.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct JobScript {
    // Of each #SBATCH line: "sbatch" and its options. Those behind the first command do not count
    // (sbatch(1)).
    std::vector<ShellCommand> directives;
    std::vector<ShellCommand> steps;   // the commands that are srun
    std::vector<std::string> cpus;     // of each of them, by SRUN_CPUS_PER_TASK; empty: not set
    std::vector<std::size_t> unclear;  // lines that have srun in another way, such as $(srun ...)
};

JobScript read_job_script(std::string_view text);

// Lines that end as on Windows, which sbatch refuses wherever they stand. `file`: whose text it is.
std::optional<Error> windows_line_ends(const std::string& file, std::string_view text);

}  // namespace distgpu
