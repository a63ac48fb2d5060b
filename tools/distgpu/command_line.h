// The command line as records: a program, its subcommands and their options. Only command_line.cpp
// includes CLI11, which parses it: its header takes more than ten seconds to compile.
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

// Destination of an option's value. A vector collects the values of a repeated option; a bool is
// for an option without a value, and becomes true if the option was given.
using Target =
    std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*,
                 std::uint32_t*, std::optional<std::uint32_t>*>;

struct Option {
    std::string name;  // "--rank"; "SPEC", without dashes, is a positional argument
    Target target;
    std::string help;
    std::string value_name{};  // in the help: "N"
    bool required = false;
    std::vector<std::string> allowed_values{};  // empty: any
    std::optional<std::uint32_t> max{};         // its value is 1 to this
    std::vector<std::string> excludes{};        // options that are declared before it
    bool can_be_omitted = false;                // a first argument that an option or -- may replace
};

// --format: json, or the initial value of `format`, which is the default.
inline Option format_option(std::string& format) {
    const std::string help = format + " (the default) or json";
    return {"--format", &format, help, "FORMAT", false, {format, "json"}};
}

struct Subcommand {
    std::string name;
    std::string help;
    std::vector<Option> options;
    std::function<ExitCode()> run;               // called once the targets have their values
    ExitCode usage_exit_code = ExitCode::usage;  // if its options are wrong
};

struct Program {
    std::string name;
    std::string version;
    std::string build;  // lines that --version --verbose adds
    std::string help;
    std::vector<Subcommand> subcommands;
    // Names of subcommands in other tools or earlier releases, each with the subcommand to suggest,
    // or that subcommand and an option.
    std::vector<std::pair<std::string_view, std::string_view>> aliases{};
};

// Runs the subcommand that the command line names, or prints the requested help or version. Prints
// errors to standard error; for an empty command line, the list of subcommands.
ExitCode run_command_line(const Program& program, int argc, const char* const* argv);

// The subcommands, each defined in the folder of its name.
Subcommand check_subcommand();
Subcommand check_config_subcommand();
Subcommand convert_subcommand();
Subcommand exec_subcommand();
Subcommand explain_subcommand();
Subcommand plan_subcommand();
Subcommand report_subcommand();
Subcommand run_subcommand();
Subcommand signal_subcommand();
Subcommand topo_subcommand();
Subcommand vars_subcommand();
Subcommand why_subcommand();

}  // namespace distgpu
