#include "check/as_rank0.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "check/look.h"
#include "check/network.h"
#include "check/network_findings.h"
#include "check/pairs/judge_network.h"
#include "check/pairs/node_trial.h"
#include "check/pairs/step_trial.h"
#include "check/ports.h"
#include "mapping/frameworks/framework.h"
#include "meet/agreement.h"
#include "node/process_environment.h"
#include "node/step_secret.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

using std::chrono::seconds;

// Beside the rendezvous, where that fails: known to all ranks whatever their variables say. The
// last of the 16 ports that job and step are dealt, where hardly any framework listens.
std::uint16_t spare_port(const StepId& step) {
    constexpr std::uint16_t last_of_slot = 15;
    return static_cast<std::uint16_t>(derived_port(step, default_ports, 1) + last_of_slot);
}

// Rank 0's ears: on the rendezvous port as its framework would listen, and on the spare one.
struct Ears {
    std::vector<Socket> listeners;
    Findings findings;
};

Ears listen_as_rank0(const OwnTask& own) {
    Ears ears;
    const std::uint16_t port = own.plan.rendezvous.port;
    if (auto listener = listen_on(port)) {
        ears.listeners.push_back(*std::move(listener));
    } else {
        ears.findings.push_back({Finding::Weight::fatal,
                                 {formatted("port {} on {}", port, own.plan.node_name),
                                  listener.error().problem, taken_port_remedy(own)},
                                 std::string(ports_check.name)});
    }
    if (auto spare = listen_on(spare_port(own.place.step))) {
        ears.listeners.push_back(*std::move(spare));
    }
    return ears;
}

// The address of the rendezvous leads elsewhere on that rank's node.
bool knows_why(const Report& report, const Rendezvous& rendezvous) {
    return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
        return is_fatal(finding) && finding.error.object == address_object(rendezvous);
    });
}

// What the others said, behind rank 0's own report. No news where nobody listened, where the rank
// was told of another place, or where it has found out why itself.
void add_others(std::vector<Report>& reports, std::vector<Report> others, const OwnTask& own,
                bool all_listened) {
    for (Report& other : others) {
        const bool same_place = other.rendezvous == reports.front().rendezvous;
        if (other.unreached && all_listened && same_place &&
            !knows_why(other, own.plan.rendezvous)) {
            other.findings.push_back({Finding::Weight::fatal, *other.unreached, "names"});
        }
        reports.push_back(std::move(other));
    }
}

// Rank 0's own node takes part as the others do, in a thread of its own.
class OwnPart {
  public:
    explicit OwnPart(const std::string& host, Deadline deadline) {
        if (host.empty()) return;
        auto ports = open_trial_ports(host);
        auto ends = NodeLink::within_process();
        if (!ports || !ends) return;
        address_ = ports->address;
        link_ = std::move(ends->first);
        thread_ =
            std::thread([ports = *std::move(ports), link = std::move(ends->second),
                         deadline]() mutable { take_part(std::move(ports), link, deadline); });
    }
    OwnPart(const OwnPart&) = delete;
    OwnPart& operator=(const OwnPart&) = delete;
    OwnPart(OwnPart&&) = delete;
    OwnPart& operator=(OwnPart&&) = delete;
    // Its link is closed, or it has heard the verdict.
    ~OwnPart() {
        link_.reset();
        if (thread_.joinable()) thread_.join();
    }

    const std::optional<TrialAddress>& address() const { return address_; }
    std::optional<NodeLink> take_link() { return std::exchange(link_, std::nullopt); }

  private:
    std::optional<TrialAddress> address_;  // nothing: it takes no part
    std::optional<NodeLink> link_;
    std::thread thread_;
};

// The nodes with the link of their first rank, in the order of the step's nodes.
std::vector<TrialMember> members_of(const OwnTask& own, OwnPart& own_part, Gathered& gathered) {
    const StepLayout& layout = own.place.layout;
    std::vector<TrialMember> members;
    if (auto link = own_part.take_link()) {
        members.push_back({own.place.node.value, own_part.address(), *std::move(link)});
    }
    for (const Report& report : gathered.reports) {
        const Placement place = layout.place(GlobalRank{report.rank});
        const auto link = gathered.links.find(report.rank);
        if (link == gathered.links.end() || place.local_rank != LocalRank{0}) continue;
        members.push_back(
            {place.node.value, parse_trial_address(report.trial), std::move(link->second)});
    }
    std::sort(
        members.begin(), members.end(),
        [](const TrialMember& left, const TrialMember& right) { return left.node < right.node; });
    return members;
}

// A node that reported and has gone since would be waited for in vain. Of one that is silent more
// is said elsewhere.
void add_lost(std::vector<Report>& reports, const std::vector<TrialMember>& members,
              const std::vector<TrialResult>& results, const Silence& silence) {
    for (const TrialMember& member : members) {
        const bool measured =
            std::any_of(results.begin(), results.end(),
                        [&](const TrialResult& result) { return result.node == member.node; });
        if (member.link.is_open() && (measured || !member.address || members.size() < 2)) continue;
        const auto own = std::find_if(reports.begin(), reports.end(), [&](const Report& report) {
            return report.node == member.node && report.stays;
        });
        if (own == reports.end()) continue;
        const bool left = !member.link.is_open();
        if (!left && silence.nodes.contains(member.node)) continue;
        own->findings.push_back(
            {left ? Finding::Weight::fatal : Finding::Weight::warning,
             {"network", left ? "its first rank left the check" : "not measured in time",
              "see that node's load and its own messages"},
             std::string(network_check.name)});
    }
}

// Ranks that reported and do not answer any more: the verdict may not reach them.
void add_silent(std::vector<Report>& reports, const std::vector<TrialMember>& members,
                const Silence& silence) {
    const auto is_silent = [&](const Report& report) {
        if (!report.stays) return silence.ranks.contains(report.rank);
        const bool left = std::any_of(members.begin(), members.end(), [&](const auto& member) {
            return member.node == report.node && !member.link.is_open();
        });
        return silence.nodes.contains(report.node) && !left;
    };
    for (Report& report : reports) {
        if (!is_silent(report)) continue;
        report.findings.push_back({Finding::Weight::fatal,
                                   {"check",
                                    formatted("reported, but did not answer within {} s after that",
                                              longest_answer.count()),
                                    "see that node's load and its kernel log (dmesg), or leave it "
                                    "out with --exclude"},
                                   "reports"});
    }
}

}  // namespace

std::vector<Endpoint> endpoints_of(const OwnTask& own) {
    const Rendezvous& rendezvous = own.plan.rendezvous;
    const StepLayout& layout = own.place.layout;
    const std::uint16_t spare = spare_port(own.place.step);
    return {{rendezvous.address, rendezvous.port},
            {layout.hosts().name(rank0_node(layout)), spare},
            {rendezvous.address, spare}};
}

Meeting meeting_of(const OwnTask& own) {
    return {"check", formatted("{}.{}", own.place.step.job, own.place.step.step),
            handed_secret(ProcessEnvironment())};
}

ExitCode check_as_rank0(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
                        seconds patience, const std::function<std::set<std::uint32_t>()>& ask_own,
                        const std::function<ExitCode(const Verdict&)>& show) {
    const OwnTask& own = *facts.own;
    const StepLayout& layout = own.place.layout;
    raise_open_files();  // for a link to each node
    // Before it looks at anything: the others are on their way.
    Ears ears = listen_as_rank0(own);
    Looked looked = look(facts, checks);
    OwnPart own_part(looked.trial_host, Clock::now() + patience + longest_trial);
    looked.report.stays = true;
    if (own_part.address()) looked.report.trial = to_text(*own_part.address());
    Gathered gathered =
        gather(ears.listeners, meeting_of(own), layout.task_count(), start + patience);
    ears.listeners.clear();
    std::vector<TrialMember> members = members_of(own, own_part, gathered);
    auto results = try_network(members);
    auto faults = judge_network(results);
    if (has_slow(faults)) {
        results = try_network(members);
        faults = in_both(faults, judge_network(results));
    }

    std::vector<Report> reports{std::move(looked.report)};
    Findings& findings = reports.front().findings;
    findings.insert(findings.begin(), ears.findings.begin(), ears.findings.end());
    const Findings said = findings_of(gathered, reports.front().rendezvous);
    findings.insert(findings.end(), said.begin(), said.end());
    add_others(reports, std::move(gathered.reports), own, ears.findings.empty());
    add_network_findings(reports, faults, layout);
    // Of a step that lacks ranks nobody starts anyway.
    Silence silence;
    if (reports.size() == layout.task_count()) {
        silence = ask_members(members, own.place.node.value, ask_own);
    }
    add_lost(reports, members, results, silence);
    add_silent(reports, members, silence);
    Verdict verdict = verdict_of(own.request.framework->mode, layout, reports, patience, checks);
    add_rates(verdict, node_rates(results));
    // Who does not answer may not hear of it either: not all ranks end by themselves.
    if (!silence.empty()) verdict.code = ExitCode::timed_out;
    verdict.took = Clock::now() - start;
    const ExitCode code = show(verdict);
    tell_verdict(members, static_cast<int>(code));
    return code;
}

}  // namespace distgpu
