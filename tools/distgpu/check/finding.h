// What a check found wrong.
#pragma once

#include "base/result.h"

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu {

struct Finding {
    enum class Weight {
        fatal,    // the framework hangs or ends, or one node would hold the others back
        warning,  // it runs, perhaps slowly or not as meant
    };
    Weight weight = Weight::fatal;
    Error error;
    std::string
        check{};  // by which it was found; "plugin", "names" or "reports" of what comes before

    bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

inline bool is_fatal(const Finding& finding) {
    return finding.weight == Finding::Weight::fatal;
}

inline bool any_fatal(const Findings& findings) {
    return std::any_of(findings.begin(), findings.end(), is_fatal);
}

}  // namespace distgpu
