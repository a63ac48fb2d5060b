// A diagnosis as text and as JSON (schema distgpu.why/1).
#pragma once

#include "why/diagnosis.h"

#include <string>
#include <vector>

namespace distgpu {

// `step`: its name, for the heading. The findings, a table of the groups, the tree of stacks, and
// what could not be seen. `colour`: for a terminal.
std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour);

// What the heading says behind the step's name: "3 ranks on 2 nodes, looked at for 3.0 s".
std::string looked_at(const Diagnosis& diagnosis);

// The table's rows, the heading first.
std::vector<std::vector<std::string>> group_rows(const std::vector<RankGroup>& groups);

std::string diagnosis_json(const std::string& step, const Diagnosis& diagnosis);

}  // namespace distgpu
