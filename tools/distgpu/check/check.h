// `distgpu check`: whether the tasks of this step would find each other, their GPUs and the
// network.
#pragma once

#include "exit_code.h"

#include <CLI/App.hpp>

#include <functional>

namespace distgpu {

// Adds the subcommand; `run` becomes what it does where the command line names it.
void add_check(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace distgpu
