// `distgpu exec`: runs a program as a task that the plugin prepared would run, without the plugin.
#pragma once

#include "exit_code.h"

#include <CLI/App.hpp>

#include <functional>

namespace distgpu {

// Adds the subcommand; `run` becomes what it does where the command line names it.
void add_exec(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace distgpu
