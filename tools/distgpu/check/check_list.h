// The checks, in the order in which a rank looks. Adding one: its record in a file here, and its
// row below.
#pragma once

#include "base/result.h"
#include "check/named_check.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

// One row a check: the name of its record, NAME_check, and its own.
#define DISTGPU_CHECKS(ROW) \
    ROW(variables)          \
    ROW(ports)              \
    ROW(cpus)               \
    ROW(gpus)               \
    ROW(memory)             \
    ROW(fabric)             \
    ROW(interfaces)         \
    ROW(names)              \
    ROW(nodes)              \
    ROW(network)

namespace distgpu {

#define DISTGPU_DECLARE(name) extern const NamedCheck name##_check;
DISTGPU_CHECKS(DISTGPU_DECLARE)
#undef DISTGPU_DECLARE

using Checks = std::vector<const NamedCheck*>;

std::span<const NamedCheck* const> all_checks();

// As the options --only and --skip say, each a list with commas; nothing: not given. In the order
// of all_checks(). Error: a name that none has.
Result<Checks> choose_checks(const std::optional<std::string>& only,
                             const std::optional<std::string>& skip);

// For people: a line for each, with its name and what it looks at.
std::string list_of_checks();

}  // namespace distgpu
