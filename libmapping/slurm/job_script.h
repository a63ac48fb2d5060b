// A batch script as sbatch sees it: its #SBATCH lines, and its srun lines, each with what it
// inherits from the job. It is read, never run.
#pragma once

#include "base/result.h"
#include "slurm/srun_line.h"

namespace distgpu {

struct ScriptLine {
    std::string where;  // "job.sbatch:12"
    std::string text;   // the line's words
    Result<SrunLine> srun;
};

struct ScriptLines {
    std::vector<ScriptLine> steps;
    std::vector<Error>
        unclear;  // what is not in the plans, such as an srun that stands in another way
};

// `file`: the script's name; `text`: what it holds.
// Errors: no script (no #! at its beginning); its #SBATCH lines, as add_options(); no srun. The
// errors of a line are its own. All begin with "job.sbatch:12: ".
Result<ScriptLines> read_script_lines(const std::string& file, std::string_view text);

}  // namespace distgpu
