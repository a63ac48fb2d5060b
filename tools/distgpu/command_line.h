// The command line as records: a program, its subcommands and their options. CLI11, which reads it,
// is compiled once, in command_line.cpp: its header costs a file more than ten seconds.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace distgpu {

// Where an option's value is stored. A vector takes all values, also of a repeated option; a bool
// tells whether the option, which then has no value, was given.
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

// --format: what `format` holds, which is the default, or json.
inline Option format_option(std::string& format) {
    const std::string help = format + " (the default) or json";
    return {"--format", &format, help, "FORMAT", false, {format, "json"}};
}

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
    // What people may type in their place, from other tools or earlier releases, and the name of
    // the one meant, or its name and an option.
    std::vector<std::pair<std::string_view, std::string_view>> others{};
};

// Runs the subcommand that the command line names, or prints the help or the version that it asks
// for; says on standard error what is wrong with it. Of an empty one that is the subcommands' list.
ExitCode run_command_line(const Program& program, int argc, const char* const* argv);

// The subcommands, each defined in the folder of its name.
Subcommand check_subcommand();
Subcommand check_config_subcommand();
Subcommand convert_subcommand();
Subcommand exec_subcommand();
Subcommand explain_subcommand();
Subcommand plan_subcommand();
Subcommand topo_subcommand();
Subcommand vars_subcommand();
Subcommand why_subcommand();

}  // namespace distgpu
