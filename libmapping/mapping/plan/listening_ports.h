// The ports from MASTER_PORT on, on which the framework will listen.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu {

// What the framework asks of the rendezvous of such a step.
RendezvousNeeds rendezvous_needs(const Framework& framework, const StepLayout& layout);

// The error where fewer than `needed` ports are left from the rendezvous on.
std::optional<Error> past_the_last_port(const Rendezvous& meeting_point, std::uint32_t needed);

// Those on one node. `first`: the rendezvous.
std::vector<std::uint16_t> ports_on(const Framework& framework, const StepLayout& layout,
                                    NodeIndex node, std::uint16_t first);

}  // namespace distgpu
