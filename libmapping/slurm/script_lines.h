// Reads a batch script, without running it: its #SBATCH lines, and its srun lines with the options
// that they inherit from the job.
#pragma once

#include "base/result.h"
#include "slurm/srun_line.h"

namespace distgpu {

struct ScriptLine {
    std::string where;  // "job.sbatch:12"
    std::string text;   // the line's words, joined
    Result<SrunLine> srun;
};

// Why the job's --signal reaches no rank.
struct DeafRanks {
    Error error;
    bool is_for_batch_script = false;  // --signal=B:..., which no key of --distgpu changes
};

struct ScriptLines {
    std::vector<ScriptLine> steps;
    std::vector<Error> unclear;  // what the plans lack, such as an srun inside another command
    std::optional<DeafRanks> deaf_ranks{};  // nullopt: it reaches some, or the job has none
};

// `file`: the script's name; `text`: its contents.
// Errors: it is not a script (it does not begin with #!); its #SBATCH lines, as for add_options();
// it has no srun. An srun line's error is in its ScriptLine. All begin with "job.sbatch:12: ".
Result<ScriptLines> read_script_lines(const std::string& file, std::string_view text);

}  // namespace distgpu
