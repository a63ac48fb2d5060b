// Bus bandwidth over size.
#pragma once

#include "results.h"

#include <string>

namespace distgpu::scaling::html {

// A plot for each collective and type, in each a line for each group of the first GPUs of a node
// and of the first nodes; out of place. Empty: nothing of this was measured.
std::string bandwidth_plots(const Results& results);

}  // namespace distgpu::scaling::html
