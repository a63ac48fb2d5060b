// The subcommands of `distgpu`, each defined in the folder of its name.
#pragma once

#include "command_line.h"

namespace distgpu {

// Whether the tasks of this step would find each other, their GPUs and the network.
Subcommand check_subcommand();

// What is wrong with plugstack.conf, for administrators.
Subcommand check_config_subcommand();

// Today's batch script or Azure ML job as one with --distgpu.
Subcommand convert_subcommand();

// Runs a program as a task that the plugin prepared would run, without the plugin.
Subcommand exec_subcommand();

// What each rank of a running step got, and what it changed since.
Subcommand explain_subcommand();

// What the tasks of a step would get.
Subcommand plan_subcommand();

// What of the command works on this machine.
Subcommand self_test_subcommand();

// A node's GPUs and HCAs, and how near they are to each other.
Subcommand topo_subcommand();

// Which variables the tasks of each mode get, and which must go.
Subcommand vars_subcommand();

// Which rank of a running step hangs, and where.
Subcommand why_subcommand();

}  // namespace distgpu
