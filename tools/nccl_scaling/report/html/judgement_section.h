// What the run was held against, and how it came out.
#pragma once

#include "report/judgement.h"
#include "results.h"

#include <string>

namespace distgpu::scaling::html {

// For each demand its counts, and a table of what failed and of what was not measured. Empty:
// nothing was asked.
std::string judgement_section(const Results& results, const Judgement& judgement);

}  // namespace distgpu::scaling::html
