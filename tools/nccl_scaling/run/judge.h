// Holds a run against what its user asked of it: an earlier run, thresholds.
#pragma once

#include "analysis/compare.h"
#include "base/result.h"
#include "bootstrap/ending.h"
#include "report/headline.h"
#include "report/judgement.h"
#include "results/results.h"

#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

struct Demands {
    std::string baseline;     // a file that --json wrote; empty: none
    double tolerance = 0.05;  // by how much a bus bandwidth may be lower than the baseline's
    std::string thresholds;   // a file of thresholds; empty: none
};

class Judge {
  public:
    // Errors: a file that cannot be read, or that holds something else; a tolerance outside 0 to 1.
    static Result<Judge> make(const Demands& demands);

    Judgement judge(const Results& results) const;

    // What the baseline reached where the run has its headline. Nothing: there is none, or it did
    // not measure that.
    std::optional<ExpectedBandwidth> expected(const Results& results) const;

  private:
    Demands demands_;
    std::optional<Results> baseline_;
    std::vector<Threshold> thresholds_;
};

// The command's, of a run that came to its end.
ExitCode exit_code_of(const Judgement& judgement);

}  // namespace distgpu::scaling
