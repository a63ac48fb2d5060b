// Whether the other nodes can find rank 0 at the address that the user chose.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"
#include "mapping/rendezvous/rendezvous.h"

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// The address that the user chose for rank 0's node.
struct ChosenAddress {
    std::string host;
    std::string object;  // as messages name it: "MASTER_ADDR=node01", "master=node01"
    std::string remedy;
};

// Nothing: it is distgpu that chooses, or the mode's processes do not meet there.
std::optional<ChosenAddress> chosen_address(const Request& request, const RendezvousFacts& facts);

// Refuses, in a step of several nodes, an exported MASTER_ADDR or a host of master= that is the
// loopback, or the NodeName or NodeAddr of a node which does not run rank 0. Any other may be one
// more name of rank 0's node. Nothing: it can be right, or the mode does not use it.
std::optional<Error> misleading_address(const StepView& step, const RendezvousFacts& facts);

// What is wrong with a host at which the nodes of a step look for rank 0. Nothing: it can be right.
std::optional<std::string> wrong_host(const StepView& step, const RendezvousFacts& facts,
                                      std::string_view host);

}  // namespace distgpu
