// `distgpu plan`: what the tasks of a step would get.
#pragma once

#include "exit_code.h"

#include <CLI/App.hpp>

#include <functional>

namespace distgpu {

// Adds the subcommand; `run` becomes what it does where the command line names it.
void add_plan(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace distgpu
