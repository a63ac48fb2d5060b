// What a check found wrong.
#pragma once

#include <distgpu/result.h>

#include <vector>

namespace distgpu {

struct Finding {
    enum class Weight {
        fatal,    // the framework hangs or ends
        warning,  // it runs, perhaps slowly or not as meant
    };
    Weight weight = Weight::fatal;
    Error error;

    bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

}  // namespace distgpu
