// docs/variables.md: every variable that distgpu sets, removes or reads.
#pragma once

#include <string>

namespace distgpu::golden {

// The page, from the frameworks' records and libmapping/node/variables.h.
std::string variables_page();

}  // namespace distgpu::golden
