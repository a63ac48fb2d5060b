// One command of a batch script that starts a training, and what it becomes with --distgpu.
#pragma once

#include "convert/conversion.h"
#include "convert/text_edits.h"
#include "slurm/shell_words.h"
#include "slurm/srun_line.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What the rest of the script says of it.
struct LaunchContext {
    StepOptions job;                             // of the #SBATCH lines
    std::string_view framework;                  // the mode of the one that it names
    bool sets_ranks = false;                     // what shows that plain Python trains
    std::map<std::string, std::string> numbers;  // of variables that are set once
    bool gives_cpus = false;                     // SRUN_CPUS_PER_TASK does, for this command
};

struct Launch {
    std::string spec;             // of --distgpu
    std::vector<TextEdit> edits;  // empty: it stays as it is
    std::vector<Note> notes;
};

// Nothing: it starts no training, or has --distgpu already.
std::optional<Launch> convert_launch(std::string_view script, const ShellCommand& command,
                                     const LaunchContext& context);

}  // namespace distgpu
