#include "command_line.h"

#include "base/format.h"
#include "base/values.h"
#include "output.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <type_traits>

namespace distgpu {
namespace {

void declare_option(CLI::App& app, const Option& option) {
    const auto add = [&](auto* target) {
        if constexpr (std::is_same_v<decltype(target), bool*>) {
            return app.add_flag(option.name, *target, option.help);
        } else {
            return app.add_option(option.name, *target, option.help);
        }
    };
    CLI::Option* const declared = std::visit(add, option.target);
    const bool is_list = std::holds_alternative<std::vector<std::string>*>(option.target);
    if (is_list && option.name.front() == '-') {
        // Otherwise it would swallow a "--" after its value.
        declared->expected(1)->allow_extra_args(false)->multi_option_policy(
            CLI::MultiOptionPolicy::TakeAll);
    }
    declared->required(option.required);
    if (!option.value_name.empty()) declared->type_name(option.value_name);
    if (!option.allowed_values.empty()) declared->check(CLI::IsMember(option.allowed_values));
    if (option.max) declared->check(CLI::Range(std::uint32_t{1}, *option.max));
    for (const std::string& other : option.excludes) declared->excludes(app.get_option(other));
}

// The words after the program's name, with an empty one for an omitted first argument: CLI11 would
// use the next word for it, even one after "--".
std::vector<std::string> with_omitted_argument(const Program& program, int argc,
                                               const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() < 2) return words;
    const std::string& next = words[1];
    const bool is_omitted = next.starts_with('-') && next != "-h" && next != "--help";
    for (const Subcommand& subcommand : program.subcommands) {
        if (subcommand.name != words.front() || subcommand.options.empty()) continue;
        if (is_omitted && subcommand.options.front().can_be_omitted) {
            words.insert(words.begin() + 1, "");
            break;
        }
    }
    return words;
}

// Names the words that belong to no option, in the order in which they were typed.
Error unexpected_words(const Program& program, const Subcommand& subcommand,
                       const CLI::App& declared) {
    std::string help = formatted("see {} {} --help", program.name, subcommand.name);
    for (const Option& option : subcommand.options) {
        if (option.required && std::holds_alternative<std::vector<std::string>*>(option.target)) {
            help.insert(0, "write -- before the program, or ");
        }
    }
    return {"command line", formatted("not expected: {}", join(declared.remaining(), " ")), help};
}

// Says what is wrong with the command line, and which help to read.
Error usage_error(const Program& program, const Subcommand* named, const CLI::ParseError& problem,
                  std::string_view first) {
    const auto see_help = [&](std::string_view of) { return formatted("see {} --help", of); };
    if (named != nullptr) {
        return {"command line", problem.what(),
                see_help(formatted("{} {}", program.name, named->name))};
    }
    if (first.empty() || first.front() == '-') {
        return {"command line", problem.what(), see_help(program.name)};
    }
    const auto alias = std::find_if(program.aliases.begin(), program.aliases.end(),
                                    [&](const auto& each) { return each.first == first; });
    if (alias != program.aliases.end() && alias->second.find(' ') != std::string_view::npos) {
        return {formatted("{} {}", program.name, first), "no longer a subcommand",
                formatted("write {} {}", program.name, alias->second)};
    }
    std::vector<std::string_view> names;
    for (const Subcommand& subcommand : program.subcommands) names.push_back(subcommand.name);
    const auto nearest =
        alias != program.aliases.end() ? std::optional(alias->second) : nearest_word(first, names);
    return {formatted("{} {}", program.name, first), "unknown subcommand",
            nearest ? formatted("did you mean '{}'?", *nearest) : see_help(program.name)};
}

// Printed if only the program's name was typed.
std::string subcommand_list(const Program& program) {
    std::string text = formatted("usage: {} SUBCOMMAND [ARGUMENT]...\n", program.name);
    for (const Subcommand& subcommand : program.subcommands) {
        std::string help = subcommand.help;
        help.resize(std::min({help.find(": "), help.find(". "), help.size() - 1}));
        text += formatted("  {:<13} {}\n", subcommand.name, help);
    }
    return text + formatted("see {0} --help, {0} SUBCOMMAND --help", program.name);
}

}  // namespace

ExitCode run_command_line(const Program& program, int argc, const char* const* argv) {
    if (argc < 2) {
        print_error_line(subcommand_list(program));
        return ExitCode::usage;
    }
    CLI::App app(program.help, program.name);
    // Asked for its count, because from CLI11 2.6 on --version ends the reading of values.
    const CLI::Option* const verbose =
        app.add_flag("--verbose")->description("With --version: also print what it was built from");
    app.set_version_flag("--version", formatted("{} {}", program.name, program.version),
                         "Print the version and exit");
    app.require_subcommand(1);
    for (const Subcommand& subcommand : program.subcommands) {
        CLI::App& declared = *app.add_subcommand(subcommand.name, subcommand.help);
        for (const Option& option : subcommand.options) declare_option(declared, option);
    }
    const auto find_named = [&] {
        const auto found = std::find_if(
            program.subcommands.begin(), program.subcommands.end(),
            [&](const Subcommand& subcommand) { return app.got_subcommand(subcommand.name); });
        return found == program.subcommands.end() ? nullptr : &*found;
    };
    try {
        std::vector<std::string> words = with_omitted_argument(program, argc, argv);
        std::reverse(words.begin(), words.end());  // the order that CLI11 expects
        app.parse(std::move(words));
        if (verbose->count() > 0) throw CLI::RequiresError("--verbose", "--version");
    } catch (const CLI::CallForVersion& version) {
        return print_result(
            formatted("{}\n{}", version.what(), verbose->count() > 0 ? program.build : ""),
            ExitCode::done);
    } catch (const CLI::Success&) {
        return print_result(app.help(), ExitCode::done);
    } catch (const CLI::ExtrasError& problem) {
        const Subcommand* const named = find_named();
        if (named == nullptr) {
            return report_error(usage_error(program, named, problem, argv[1]), ExitCode::usage);
        }
        return report_error(unexpected_words(program, *named, *app.get_subcommand(named->name)),
                            named->usage_exit_code);
    } catch (const CLI::ParseError& problem) {
        const Subcommand* const named = find_named();
        return report_error(usage_error(program, named, problem, argv[1]),
                            named == nullptr ? ExitCode::usage : named->usage_exit_code);
    }
    return find_named()->run();
}

}  // namespace distgpu
