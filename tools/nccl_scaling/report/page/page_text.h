// The page without a run.
#pragma once

#include <string_view>

namespace distgpu::scaling {

// With "@RUN@" once, where the run's JSON belongs.
extern const std::string_view page_text;

}  // namespace distgpu::scaling
