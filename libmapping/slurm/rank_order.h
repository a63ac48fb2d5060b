// Puts the nodes of a step into the order that its user asked for: where the lists and the switches
// come from.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/request/request.h"

namespace distgpu {

// The list of nodes that the order names: for a process of the user's own, which may read what he
// may. Empty: it names none. Lines that begin with '#' are left out.
// Errors (object: "order=..."): the variable is not set, the file cannot be read, is no regular one
// or larger than 4 MiB, or it is no list of nodes.
Result<HostList> read_order_list(const RankOrder& order, const Environment& environment);

struct OrderedLayout {
    StepLayout layout;
    std::string text;  // "order: switch, ring crosses switches 2 times (by name: 7)"
};

// `list` as read_order_list() has read it. For `switch` asks slurmctld, by scontrol: one RPC, 10
// ms; gives up after 5 s. Of a single node nobody is asked. Precondition: not Source::slurm. Errors
// (object: "order=..."): as order_of() and with_order(); Slurm knows no switches.
Result<OrderedLayout> put_in_order(const RankOrder& order, const HostList& list,
                                   const StepLayout& layout, const Environment& environment);

}  // namespace distgpu
