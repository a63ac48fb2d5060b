// `distgpu vars`: which variables the tasks of each mode get, and which must go.
#pragma once

#include "exit_code.h"

#include <CLI/App.hpp>

#include <functional>

namespace distgpu {

// Adds the subcommand; `run` becomes what it does where the command line names it.
void add_vars(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace distgpu
