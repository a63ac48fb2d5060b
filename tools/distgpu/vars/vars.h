// The frameworks' contracts as text: which variables a task gets, and which are removed.
#pragma once

#include "mapping/frameworks/framework.h"

#include <span>
#include <string>
#include <vector>

namespace distgpu {

// Every contract: each framework, followed by those of its variants that no other mode names.
std::vector<const Framework*> contracts();

// For people, in lines of at most 100 columns. Both end with what every mode sets besides.
std::string modes_table();  // each contract with its mode, aliases, keys and summary
std::string contract_table(const Framework& contract);  // its variables

// distgpu.vars/1, whose fields distgpu-vars(1) lists. A variant's aliases and keys are its
// framework's, and its own lists are empty.
std::string vars_json(std::span<const Framework* const> contracts);

}  // namespace distgpu
