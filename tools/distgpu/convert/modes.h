// Which mode a script needs, and what that does with variables.
#pragma once

#include <string>
#include <string_view>

namespace distgpu {

// The mode of the framework that a script names anywhere, also in a comment; "pytorch" without one.
std::string_view named_framework(std::string_view script);

// Whether each task of a SPEC gets the variable.
bool gives_variable(const std::string& spec, std::string_view name);

// The same, or the mode takes it away from the task, whose launcher owns it.
bool decides_variable(const std::string& spec, std::string_view name);

}  // namespace distgpu
