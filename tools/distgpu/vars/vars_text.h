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

// The schema distgpu.vars/1:
//   {"schema",
//    "modes": [{"mode", "aliases": [word], "keys": [name], "summary",
//               "set": [{"name", "meaning", "users_own"}], "unset": [{"name", "reason"}]}],
//    "keys": [name], "common": as "set", "devices": as "set"}
// "keys" of a mode are those that not every mode takes; the others stand at the end. A variant's
// aliases and keys are its framework's, and its own lists are empty. "users_own": where the user
// exported the variable, it stays. "devices" are set where the node's topology is known. In the
// names under "unset" a last '*' stands for every variable with that prefix.
std::string vars_json(std::span<const Framework* const> contracts);

}  // namespace distgpu
