// `distgpu topo`: a node's GPUs and HCAs, and how near they are to each other.
#pragma once

#include "exit_code.h"

#include <CLI/App.hpp>

#include <functional>

namespace distgpu {

// Adds the subcommand; `run` becomes what it does where the command line names it.
void add_topo(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace distgpu
