// The frameworks as text: which variables a task gets, and which are removed.
#pragma once

#include "mapping/frameworks/framework.h"

#include <span>
#include <string>
#include <vector>

namespace distgpu {

// Every framework, each followed by those of its variants that are not a mode of their own.
std::vector<const Framework*> listed_frameworks();

// Tables of at most 100 columns. Both end with the variables that every mode sets.
std::string modes_table();  // each framework with its mode, aliases, keys and summary
std::string framework_table(const Framework& framework);  // its variables

// distgpu.vars/1, whose fields distgpu-vars(1) lists. A variant's aliases and keys are its
// framework's, and its own lists are empty.
std::string vars_json(std::span<const Framework* const> selected);

}  // namespace distgpu
