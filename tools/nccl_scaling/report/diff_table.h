// Two runs side by side.
#pragma once

#include "results/results.h"

#include <string>

namespace distgpu::scaling {

// A head, whose lines begin with '#', and a row for each measurement of the first GPUs or nodes
// that both runs have: its bus bandwidth in each, and the change.
std::string diff_table(const Results& before, const Results& after);

}  // namespace distgpu::scaling
