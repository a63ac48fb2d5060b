// Which variables of the environment the results keep. An allow-list: the environment of a job
// also holds what must not be published.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {

// Of an array of "NAME=VALUE" that ends with null, those that change how collectives run, sorted
// by name.
std::vector<std::pair<std::string, std::string>> kept_environment(const char* const* environment);

}  // namespace distgpu::scaling
