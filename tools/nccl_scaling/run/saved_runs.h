// The subcommands `page` and `diff`: what was measured earlier, read again. They measure nothing.
#pragma once

#include "base/exit_code.h"
#include "base/result.h"

#include <cstdio>
#include <string>

namespace distgpu::scaling {

struct Redraw {
    std::string run;   // a file that --json wrote
    std::string html;  // empty: on `out`
};

// Errors: the run cannot be read; the page cannot be written.
Result<ExitCode> redraw_page(const Redraw& redraw, std::FILE* out);

// Two files that --json wrote, whatever library or driver they were measured with.
struct Diff {
    std::string before;
    std::string after;
    double tolerance = 0.05;  // by how much a bus bandwidth may be lower in the second
};

// Prints in what the runs differ, each bus bandwidth that both have, and what is slower: then it is
// check_failed. Errors: a run cannot be read; they have no measurement in common.
Result<ExitCode> diff_runs(const Diff& diff, std::FILE* out);

}  // namespace distgpu::scaling
