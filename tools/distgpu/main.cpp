// The command `distgpu`: which subcommand the command line names.
#include "base/format.h"
#include "base/result.h"
#include "check/check.h"
#include "exec/exec.h"
#include "exit_code.h"
#include "mapping/spec/nearest_word.h"
#include "output.h"
#include "plan/plan.h"
#include "topo/topo.h"
#include "vars/vars.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

int end_of(ExitCode code) {
    return static_cast<int>(code);
}

// What was wrong with the command line, and whose help to read.
Error judge(const CLI::App& app, const CLI::ParseError& refused, std::string_view first) {
    const auto named = app.get_subcommands();
    if (!named.empty()) {
        return {"command line", refused.what(),
                formatted("see distgpu {} --help", named.front()->get_name())};
    }
    if (first.empty() || first.front() == '-') {
        return {"command line", refused.what(), "see distgpu --help"};
    }
    const auto known = app.get_subcommands([](const CLI::App* /*any*/) { return true; });
    std::vector<std::string> names(known.size());
    std::transform(known.begin(), known.end(), names.begin(),
                   [](const CLI::App* subcommand) { return subcommand->get_name(); });
    const std::vector<std::string_view> words(names.begin(), names.end());
    const auto nearest = nearest_word(first, words);
    return {formatted("distgpu {}", first), "unknown subcommand",
            nearest ? formatted("did you mean '{}'?", *nearest) : "see distgpu --help"};
}

int run(int argc, char** argv) {
    CLI::App app("Variables, GPUs, CPUs and HCAs for the tasks of distributed GPU training.",
                 "distgpu");
    app.require_subcommand(1);
    std::function<ExitCode()> subcommand;
    add_check(app, subcommand);
    add_exec(app, subcommand);
    add_plan(app, subcommand);
    add_topo(app, subcommand);
    add_vars(app, subcommand);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& refused) {
        const std::string_view first = argc > 1 ? argv[1] : "";
        // The failures of exec must not look like the program's.
        return end_of(complain(judge(app, refused, first), app.got_subcommand("exec")
                                                               ? ExitCode::exec_failed
                                                               : ExitCode::usage));
    }
    return end_of(subcommand());
}

}  // namespace
}  // namespace distgpu

int main(int argc, char** argv) {
    try {
        return distgpu::run(argc, argv);
    } catch (const std::exception& failure) {  // memory has run out
        static_cast<void>(std::fprintf(stderr, "distgpu: %s\n", failure.what()));
        return distgpu::end_of(distgpu::ExitCode::environment);
    }
}
