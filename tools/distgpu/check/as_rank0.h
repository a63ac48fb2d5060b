// What rank 0 does for the check of the whole step: it hears the others, lets the nodes try the
// network, judges, and tells all.
#pragma once

#include "base/exit_code.h"
#include "check/check_list.h"
#include "check/gather.h"
#include "check/verdict.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace distgpu {

// Where the others find rank 0: at the rendezvous, and where that fails.
std::vector<Endpoint> endpoints_of(const OwnTask& own);

Meeting meeting_of(const OwnTask& own);

// `patience`: for the reports, from now. `ask_own` asks the other ranks of rank 0's own node
// whether they are still there, and returns those that do not answer. `show` is called once, before
// the others hear of the verdict; by then nothing listens any more where the framework will.
ExitCode check_as_rank0(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
                        std::chrono::seconds patience,
                        const std::function<std::set<std::uint32_t>()>& ask_own,
                        const std::function<ExitCode(const Verdict&)>& show);

}  // namespace distgpu
