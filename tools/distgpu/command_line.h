// The command line as records: a program, its subcommands and their options. CLI11, which reads it,
// is compiled once, in command_line.cpp: its header costs a file more than ten seconds.
#pragma once

#include "base/exit_code.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace distgpu {

// Where goes what was written. A vector takes all that stands there, and an option several times;
// a bool is whether the option is there, which then has no value.
using Target =
    std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*,
                 std::uint32_t*, std::optional<std::uint32_t>*>;

struct Option {
    std::string name;  // "--rank"; without dashes an argument that stands by itself: "SPEC"
    Target target;
    std::string help;
    std::string type{};  // what the help calls its value: "N"
    bool required = false;
    std::vector<std::string> words{};     // all that its value may be; empty: anything
    std::optional<std::uint32_t> most{};  // its value is 1 to this
    std::vector<std::string> excludes{};  // of the subcommand's options before it
    bool may_be_left_out = false;  // the first argument, where an option or -- stands instead
};

struct Subcommand {
    std::string name;
    std::string help;
    std::vector<Option> options;
    std::function<ExitCode()> run;       // once the targets have their values
    ExitCode refused = ExitCode::usage;  // the end where its options are wrong
};

struct Program {
    std::string name;
    std::string version;
    std::string help;
    std::vector<Subcommand> subcommands;
    // What people may type in their place, from other tools, and the name of each one meant.
    std::vector<std::pair<std::string_view, std::string_view>> others{};
};

// Runs the subcommand that the command line names, or prints the help or the version that it asks
// for; says on standard error what is wrong with it. Of an empty one that is the subcommands' list.
ExitCode run_command_line(const Program& program, int argc, const char* const* argv);

}  // namespace distgpu
