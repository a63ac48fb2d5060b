// The file in which the key report puts what a step did with its GPUs.
#pragma once

#include "mapping/request/request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

inline constexpr std::string_view default_report_file = "distgpu-%j.%s.json";

struct StepNames {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    std::string user{};
};

// Replaces %j by the job's number, %s by the step's and %u by the user's name, as srun's --output
// does; %% is a percent sign. nullopt if another letter follows a %.
std::optional<std::string> with_names(std::string_view pattern, const StepNames& names);

// The absolute path of the step's report. `folder`: where the step begins. Precondition: the key
// is on, and with_names() accepts its file, as parse_report_choice() checks.
std::string report_file(const ReportChoice& choice, const StepNames& names,
                        const std::string& folder);

}  // namespace distgpu
