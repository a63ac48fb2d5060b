// A diagnosis as a page by itself.
#pragma once

#include "why/diagnosis.h"

#include <string>

namespace distgpu {

// `step`: its name, for the heading. The findings, the groups' table, what was seen of the odd
// ranks, and the tree of stacks, whose branches can be closed. Names of a program are text in it.
std::string diagnosis_page(const std::string& step, const Diagnosis& diagnosis);

}  // namespace distgpu
