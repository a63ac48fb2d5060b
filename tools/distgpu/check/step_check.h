// The check of a whole step: each rank runs its checks and reports to rank 0, which runs the
// network trial between the nodes, computes the verdict and sends it to all of them.
#pragma once

#include "check/checks.h"
#include "check/pairs/network_trial.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "meet/handshake.h"
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

// report.cpp: runs one rank's checks and sends its report to rank 0 over the rendezvous port, which
// tests that port as the framework will use it; falls back to a spare port.

struct Report {
    std::uint32_t rank = 0;
    std::uint32_t node = 0;  // in the step's node list
    std::string cpus{};      // "0-3,8"
    std::uint32_t gpus = 0;
    std::string interface {};  // from NCCL_SOCKET_IFNAME, or the one with the node's address
    std::string ports{};       // "mlx5_0:1 400 Gb/s +3"; empty without InfiniBand
    std::string network{};     // CheckResult::network
    std::string rendezvous{};  // "node01:24608", as this rank has it; empty if unknown
    Findings findings{};
    std::vector<NodeTrait> traits{};  // of its node, only in the report of one of its ranks
    double clock = 0;                 // when it was sent, in seconds since 1970; 0 if not sent
    bool keeps_connection = false;    // for the network trial and the verdict
    std::string trial_address{};      // its node's in the network trial; empty if not in it
    std::vector<std::string> more_hosts{};    // CheckResult::more_hosts
    bool has_chosen_interface = false;        // NCCL_SOCKET_IFNAME is the user's
    std::optional<Error> rendezvous_error{};  // why the report came over a spare port
    // By PCI address, or by Slurm's number if no address is known: those that the task was given,
    // and those that its variables name now. Empty if unknown.
    std::vector<std::string> given_gpus{};
    std::vector<std::string> visible_gpus{};

    bool operator==(const Report&) const = default;
    static void fields(auto& io, auto& it) {
        io("rank", it.rank, "node", it.node, "cpus", it.cpus, "gpus", it.gpus, "interface",
           it.interface, "ports", it.ports, "network", it.network, "rendezvous", it.rendezvous,
           "findings", it.findings, "traits", it.traits, "clock", it.clock, "stays",
           it.keeps_connection, "trial", it.trial_address, "more", it.more_hosts, "chosen",
           it.has_chosen_interface, "unreached", it.rendezvous_error, "given", it.given_gpus,
           "visible", it.visible_gpus);
    }
};

struct LocalReport {
    Report report;
    std::string trial_host;  // as in CheckResult
};

// Runs the checks that apply, one after the other. One that does not finish by the deadline is a
// finding too, and is left running in a separate thread.
LocalReport run_checks(const CheckFacts& facts, const Checks& checks);

// One line of JSON, without a newline.
std::string encode_report(const Report& report);

// nullopt if it is not a report. Anyone may send anything to a port, so texts are cut to what a
// line can show.
std::optional<Report> decode_report(std::string_view line);

// Where rank 0 listens.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};

struct GatheredReports {
    std::vector<Report> reports;  // by rank, one each
    Proof proof = Proof::none;    // required of each report
    std::uint32_t ignored = 0;    // connections that sent anything but a proven report
    // By rank, for the ranks that keep their connection.
    std::map<std::uint32_t, NodeLink> links{};
};

// Accepts reports until all ranks but this one have reported, or until the deadline.
GatheredReports gather_reports(const std::vector<Socket>& listeners, const Handshake& handshake,
                               std::uint32_t world_size, Deadline deadline);

// Warnings about unproven reports and foreign connections. `rendezvous`: rank 0's address and port.
Findings report_warnings(const GatheredReports& gathered, const std::string& rendezvous);

// Sends the report to rank 0 at the first endpoint or, with the reason in `rendezvous_error`, at
// another one; retries until the deadline. Returns the connection, for the messages after the
// report. Error: why the first endpoint did not accept it, if no endpoint did.
Result<NodeLink> deliver(Report report, const std::vector<Endpoint>& endpoints,
                         const Handshake& handshake, Deadline deadline);

// verdict.cpp and verdict_output.cpp: computes and prints rank 0's verdict on all the reports.

// Adds a finding to the reports of each node one of whose traits differs from the majority's. On a
// tie the first node's value counts as the majority's.
void compare_nodes(std::vector<Report>& reports, const StepLayout& layout);

// Adds a finding to the reports of ranks of one node that have to share GPUs although distgpu gave
// each its own: more ranks than GPUs that they see.
void compare_visible_gpus(std::vector<Report>& reports, const StepLayout& layout);

// Adds each interface that NCCL_SOCKET_IFNAME allows and some nodes cannot use, to the report of
// the first rank of the node that tried.
void add_interface_findings(std::vector<Report>& reports,
                            const std::vector<UnusableInterface>& unusable,
                            const StepLayout& layout);

// Adds each fault from the network trial to the report of the first rank of the node at fault.
// `results`: of the trial in which they were found.
void add_network_findings(std::vector<Report>& reports, const std::vector<NetworkFault>& faults,
                          const std::vector<TrialResult>& results, const StepLayout& layout);

// The state of one node, from its ranks' reports.
struct NodeState {
    std::string name;
    std::vector<std::uint32_t> ranks;  // all of its ranks
    bool has_reported = false;         // any of them did; otherwise the fields below are empty
    std::string cpus{};                // of all ranks that reported: "0-3,8"
    std::uint32_t gpus_per_rank = 0;
    std::string interface {};  // as in Report
    std::string ports{};       // as in Report
    std::string state{};       // "ok", "1 of 4 missing, 2 of 4 failed"
    NodeRates rates{};         // in the network trial
};

// One finding, and all the ranks that have it.
struct SharedFinding {
    Finding finding;
    std::vector<std::uint32_t> ranks;
    std::string subject;  // "ranks 0-7 on node[01-02]"
};

struct Verdict {
    std::string mode;
    std::uint32_t ranks = 0;  // of the step
    std::string rendezvous;   // of the first rank that knows it; empty if no rank does
    std::vector<NodeState> nodes;
    std::vector<SharedFinding> findings;  // fatal ones first, each in the order of the ranks
    std::vector<std::uint32_t> missing;   // ranks that did not report
    std::string missing_subject;
    std::chrono::seconds report_timeout{0};
    std::vector<std::string> networks;  // what NCCL takes instead of InfiniBand, on any node
    std::vector<std::string> skipped;   // checks that were not chosen
    HostList exclude;                   // the nodes without which the rest would be ready
    Clock::duration duration{};         // measured on rank 0
    ExitCode code = ExitCode::done;
};

// `gathered`: by rank, rank 0's own first; ranks that did not report within `report_timeout` are
// missing. `checks`: those that the ranks ran.
Verdict compute_verdict(std::string_view mode, const StepLayout& layout,
                        const std::vector<Report>& gathered, std::chrono::seconds report_timeout,
                        const Checks& checks);

// "94.2 Mb/s", "9.41 Gb/s". `rate`: bytes per second.
std::string rate_text(double rate);

// The first fatal finding, or the ranks that did not report; empty if there is neither.
std::string reason_not_ready(const Verdict& verdict);

// A table of the nodes, the findings, and the verdict as the last line. `colour`: for a terminal.
std::string verdict_text(const Verdict& verdict, bool colour);

// If the step is ready, the warnings and one line; otherwise the findings and the nodes to exclude.
std::string verdict_brief(const Verdict& verdict);

// distgpu.check/1, whose fields distgpu-check(1) lists.
std::string verdict_json(const Verdict& verdict);

// step_check.cpp: the steps of each rank until the verdict.

struct RankExit {
    ExitCode rank_code = ExitCode::done;  // from its own findings; on rank 0 the step's
    std::optional<ExitCode> step_code{};  // the verdict's; nullopt if it did not arrive
};

// `report_timeout`: counted from `start`. `print_verdict` is called once, on rank 0, before the
// others receive the verdict; by then the ports on which the framework will listen are closed.
RankExit check_step(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
                    std::chrono::seconds report_timeout,
                    const std::function<ExitCode(const Verdict&)>& print_verdict);

}  // namespace distgpu
