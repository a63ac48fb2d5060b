// How the ranks of a step check it together: each one looks at what it has and reports to rank 0,
// which lets the nodes try the network, judges, and tells all of them the verdict.
#pragma once

#include "check/checks.h"
#include "check/pairs/trial.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "meet/meeting.h"
#include "meet/proof.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// report.cpp: what one rank finds out, and how its report reaches rank 0: over the rendezvous port,
// which is thereby tried as the framework will use it, or over a spare one if that fails.

struct Report {
    std::uint32_t rank = 0;
    std::uint32_t node = 0;  // in the step's node list
    std::string cpus{};      // "0-3,8"
    std::uint32_t gpus = 0;
    std::string interface {};  // the one that NCCL is told to take, or that has the node's address
    std::string ports{};       // "mlx5_0:1 400 Gb/s +3"; empty: no InfiniBand
    std::string rendezvous{};  // "node01:24608", as this rank has it; empty: it has none
    Findings findings{};
    std::vector<NodeTrait> traits{};   // of its node, from one of its ranks
    double clock = 0;                  // when it was sent, in seconds since 1970; 0: not sent
    bool stays = false;                // keeps the connection, for the trial of the network
    std::string trial{};               // where its node takes part in that; empty: it does not
    std::optional<Error> unreached{};  // why rank 0 got this report past the rendezvous port

    bool operator==(const Report&) const = default;
    static void fields(auto& io, auto& it) {
        io("rank", it.rank, "node", it.node, "cpus", it.cpus, "gpus", it.gpus, "interface",
           it.interface, "ports", it.ports, "rendezvous", it.rendezvous, "findings", it.findings,
           "traits", it.traits, "clock", it.clock, "stays", it.stays, "trial", it.trial,
           "unreached", it.unreached);
    }
};

struct LocalReport {
    Report report;
    std::string trial_host;  // as in CheckResult
};

// Runs those of the checks that apply, one after the other. One that takes longer than until the
// deadline is a finding too, and goes on in a thread of its own.
LocalReport look(const CheckFacts& facts, const Checks& checks);

// One line of JSON, without a newline.
std::string encode_report(const Report& report);

// nullopt: not a report. Anybody may send anything to a port, so texts are cut to what a line can
// show.
std::optional<Report> decode_report(std::string_view line);

// Where rank 0 listens.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};

struct Gathered {
    std::vector<Report> reports;  // by rank, one each
    Proof proof = Proof::none;    // that each report had to have
    std::uint32_t ignored = 0;    // connections that sent anything but a proven report
    // By rank, of those that keep the connection.
    std::map<std::uint32_t, NodeLink> links{};
};

// Takes reports until all other ranks of a world of `world_size` have reported, or until the
// deadline.
Gathered gather(const std::vector<Socket>& listeners, const Meeting& meeting,
                std::uint32_t world_size, Deadline deadline);

// The warnings about how the reports came. `rendezvous`: rank 0's address and port.
Findings findings_of(const Gathered& gathered, const std::string& rendezvous);

// Sends the report to rank 0 at the first endpoint or, with the reason in `unreached`, at another
// one; retries until the deadline. Returns the connection, for what follows the report.
// Error: why the first endpoint did not take it, if none did.
Result<NodeLink> deliver(Report report, const std::vector<Endpoint>& endpoints,
                         const Meeting& meeting, Deadline deadline);

// verdict.cpp and verdict_output.cpp: what rank 0 makes of all the reports together.

// Adds a finding to the reports of each node that has another trait than most nodes. On a tie the
// first node's value counts as that of most.
void compare_nodes(std::vector<Report>& reports, const StepLayout& layout);

// Adds what the trial of the network found to the report of the first rank of the node at fault.
void add_network_findings(std::vector<Report>& reports, const std::vector<NetworkFault>& faults,
                          const StepLayout& layout);

// One node, as its ranks reported it.
struct NodeState {
    std::string name;
    std::vector<std::uint32_t> ranks;  // all of its ranks
    bool reported = false;             // any of them did; else what follows is empty
    std::string cpus{};                // of all that reported: "0-3,8"
    std::uint32_t gpus_per_rank = 0;
    std::string interface {};  // as in Report
    std::string ports{};       // the same
    std::string state{};       // "ok", "1 of 4 missing, 2 of 4 failed"
    NodeRates rates{};         // that it reached in the trial of the network
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
    std::string rendezvous;   // of the first rank that has one; empty: no rank has one
    std::vector<NodeState> nodes;
    std::vector<SharedFinding> findings;  // fatal ones first, then as the ranks have them
    std::vector<std::uint32_t> missing;   // ranks that did not report
    std::string missing_who;
    std::chrono::seconds waited{0};
    std::string fabric;                // what NCCL uses without InfiniBand; empty: InfiniBand
    std::vector<std::string> skipped;  // checks that were not chosen
    HostList exclude;                  // the nodes without which the rest would be ready
    Clock::duration took{};            // by rank 0's clock
    ExitCode code = ExitCode::done;
};

// `gathered`: by rank, rank 0's own first; ranks that did not report within `waited` are missing.
// `checks`: those that the ranks ran.
Verdict verdict_of(std::string_view mode, const StepLayout& layout,
                   const std::vector<Report>& gathered, std::chrono::seconds waited,
                   const Checks& checks);

// "94.2 Mb/s", "9.41 Gb/s". `rate`: bytes a second.
std::string rate_text(double rate);

// For people: a table by node, what was found, and one line at the end. `colour`: for a terminal.
std::string verdict_text(const Verdict& verdict, bool colour);

// One line and the warnings if all is well; else what was found and which nodes to leave out.
std::string verdict_brief(const Verdict& verdict);

// distgpu.check/1, whose fields distgpu-check(1) lists.
std::string verdict_json(const Verdict& verdict);

// step_check.cpp: the way of all ranks to the verdict.

// How a rank ends by itself, and how the step does.
struct RankEnd {
    ExitCode own = ExitCode::done;
    std::optional<ExitCode> verdict{};  // nothing: it did not come
};

// `patience`: for the reports, from `start`. `show` is called once, on rank 0, before the others
// hear of the verdict; by then nothing listens any more where the framework will.
RankEnd check_step(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
                   std::chrono::seconds patience,
                   const std::function<ExitCode(const Verdict&)>& show);

}  // namespace distgpu
