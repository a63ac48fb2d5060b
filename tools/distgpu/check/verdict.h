// What all the reports together say.
#pragma once

#include "base/exit_code.h"
#include "base/io/deadline.h"
#include "check/check_list.h"
#include "check/pairs/judge_network.h"
#include "check/report.h"
#include "mapping/layout/step_layout.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Of one node, by its ranks that reported.
struct NodeState {
    std::string name;
    std::vector<std::uint32_t> ranks;  // all of its ranks
    bool reported = false;             // any of them; else what follows is empty
    std::string cpus{};                // of them together: "0-3,8"
    std::uint32_t gpus_per_rank = 0;
    std::string interface {};  // as in Report
    std::string ports{};       // the same
    std::string state{};       // "ok", "1 of 4 missing, 2 of 4 failed"
    NodeRates rates{};         // over its interface
};

// One finding, and all the ranks that have it.
struct SharedFinding {
    Finding finding;
    std::vector<std::uint32_t> ranks;
    std::string who;  // "ranks 0-7 on node[01-02]"
};

struct Verdict {
    std::string mode;
    std::uint32_t ranks = 0;  // of the step
    std::string rendezvous;   // of the first rank that has one; empty: none has
    std::vector<NodeState> nodes;
    std::vector<SharedFinding> findings;  // fatal ones first, then as the ranks have them
    std::vector<std::uint32_t> missing;   // ranks that did not report
    std::string missing_who;
    std::chrono::seconds waited{0};
    std::string fabric;                // over what NCCL goes without InfiniBand; empty: with it
    std::vector<std::string> skipped;  // checks that were not chosen
    HostList exclude;                  // the nodes without which the rest would be ready
    Clock::duration took{};            // by rank 0's clock
    ExitCode code = ExitCode::done;
};

// `gathered`: by rank, rank 0's own first; those who did not report within `waited` are missing.
// `checks`: those that the ranks ran.
Verdict verdict_of(std::string_view mode, const StepLayout& layout,
                   const std::vector<Report>& gathered, std::chrono::seconds waited,
                   const Checks& checks);

// "who: object: problem; remedy".
std::string line_of(const SharedFinding& shared);

// The same of the ranks that did not report. Precondition: there are some.
std::string missing_line(const Verdict& verdict);

// Adds what the nodes reached in the trial of the network.
void add_rates(Verdict& verdict, const std::vector<NodeRates>& rates);

// For people: a table by node, what was found, and one line at the end. `colour`: for a terminal.
std::string verdict_text(const Verdict& verdict, bool colour);

// One line where all is well, beside warnings; else what was found and which nodes to leave out.
std::string verdict_brief(const Verdict& verdict);

// distgpu.check/1, whose fields distgpu-check(1) lists.
std::string verdict_json(const Verdict& verdict);

}  // namespace distgpu
