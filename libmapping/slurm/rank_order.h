// Puts the nodes of a step into the user's order: reads the list of nodes, or the switches.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/request/request.h"

namespace distgpu {

// Reads the list of nodes from the file or variable that the order names; empty if it names
// neither. Only for processes that run as the user, so that they read only what the user may read.
// Lines that begin with '#' are skipped. Errors (object: "order=..."): the variable is not set; the
// file cannot be read, is not a regular file, or is larger than 4 MiB; the text is not a list of
// nodes.
Result<HostList> read_order_list(const RankOrder& order, const Environment& environment);

struct OrderedLayout {
    StepLayout layout;
    std::string text;  // "order: switch, ring crosses switches 2 times (by name: 7)"
};

// `list`: from read_order_list(). For `switch` and more than one node runs scontrol, which asks
// slurmctld: one RPC, 10 ms; gives up after 5 s. Precondition: not Source::slurm. Errors (object:
// "order=..."): as order_from_list() and with_order(); Slurm knows no switches.
Result<OrderedLayout> apply_order(const RankOrder& order, const HostList& list,
                                  const StepLayout& layout, const Environment& environment);

}  // namespace distgpu
