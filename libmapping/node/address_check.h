// Whether rank 0's node has the address at which the user lets the others look for rank 0.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"

#include <optional>
#include <vector>

namespace distgpu {

// On rank 0's node: compares an exported MASTER_ADDR, or the host of master=, with the addresses of
// this machine. A name other than the node's own is looked up, for as long as the start of a step
// waits for a name. Error: it is another machine's, or a name of none. Where the name service does
// not answer, it only warns. A task without others, which may never look, is not checked.
std::optional<Error> check_address(const Request& request, const StepLayout& layout,
                                   const RendezvousFacts& facts, std::vector<Error>& warnings);

}  // namespace distgpu
