// A diagnosis as text and as JSON (schema distgpu.why/1).
#pragma once

#include "why/diagnosis.h"

#include <string>

namespace distgpu {

// `step`: its name, for the heading. The findings, a table of the groups, the tree of stacks, and
// what could not be seen. `colour`: for a terminal.
std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour);

std::string diagnosis_json(const std::string& step, const Diagnosis& diagnosis);

}  // namespace distgpu
