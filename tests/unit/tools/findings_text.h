// What checks found, for comparison: "failed OBJECT: PROBLEM" a line.
#pragma once

#include "check/checks.h"

#include <string>

namespace distgpu {

inline std::string text(const Findings& findings) {
    std::string all;
    for (const Finding& finding : findings) {
        all += is_fatal(finding) ? "failed " : "warning ";
        all += finding.error.object + ": " + finding.error.problem + "\n";
    }
    return all;
}

}  // namespace distgpu
