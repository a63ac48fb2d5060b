// The command lines of programs that `distgpu exec` starts: what the user wrote, and the options
// that a node's program gets besides.
#pragma once

#include "mapping/frameworks/framework.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A command line, without `distgpu exec [SPEC] --` before it.
struct StartedProgram {
    std::span<const std::string> words;
    bool by_exec = false;  // `distgpu exec` stood before it
};
StartedProgram started_program(std::span<const std::string> command_line);

// The last value that `words` give the option whose name is one of `names`, which stand between
// blanks, as "--port=8000" or "--port 8000"; '_' counts as '-'. Nothing: it is not there; empty: no
// value stands behind it.
std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            std::string_view names);

// The same of one of the service's options.
std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            const ProgramOption& option);

// What this node's program gets besides: no option that the user gave it.
std::vector<std::string> options_of(const Service& service, const TaskContext& task);

}  // namespace distgpu
