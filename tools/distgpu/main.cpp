// The command `distgpu`: which subcommand the command line names.
#include "exec/exec.h"
#include "exit_code.h"
#include "plan/plan.h"
#include "topo/topo.h"
#include "vars/vars.h"

#include <distgpu/result.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <functional>

namespace distgpu {
namespace {

int end_of(ExitCode code) {
    return static_cast<int>(code);
}

int run(int argc, char** argv) {
    CLI::App app("Variables, GPUs, CPUs and HCAs for the tasks of distributed GPU training.",
                 "distgpu");
    app.require_subcommand(1);
    std::function<ExitCode()> subcommand;
    add_exec(app, subcommand);
    add_plan(app, subcommand);
    add_topo(app, subcommand);
    add_vars(app, subcommand);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& refused) {
        const Error error{"command line", refused.what(), "see distgpu --help"};
        fmt::print(stderr, "{}\n", error.message());
        // Its own failures must not look like the program's.
        return end_of(app.got_subcommand("exec") ? ExitCode::exec_failed : ExitCode::usage);
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
