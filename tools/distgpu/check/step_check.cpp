#include "check/step_check.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "meet/verdict_socket.h"
#include "node/machine.h"
#include "node/network.h"
#include "node/step_variables.h"
#include "output.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

using std::chrono::seconds;

// From the end of the reports to the verdict: the network trial, and finding the silent ranks.
constexpr seconds max_verdict_time = max_trial_time + max_question_time;

// Rank 0's own node joins the network trial like the others, in a separate thread, which ends when
// its link is closed or it has received the verdict.
struct LocalTrial {
    std::jthread thread;                  // declared before the link, so that it is joined after it
    std::optional<TrialAddress> address;  // nullopt if the node is not in the trial
    std::optional<NodeLink> link;
};

// "eth1=10.0.0.1", at the port of the node's first address.
std::vector<MoreAddress> more_addresses(const std::vector<std::string>& hosts,
                                        const std::optional<TrialAddress>& first) {
    std::vector<MoreAddress> more;
    for (const std::string& text : hosts) {
        std::string_view address = text;
        const std::string name = printable(cut_until(address, '='));
        if (!first || !is_ip_address(std::string(address))) continue;
        more.push_back({name, {std::string(address), first->port}});
    }
    return more;
}

LocalTrial start_local_trial(const std::string& host, Deadline deadline) {
    LocalTrial trial;
    if (host.empty()) return trial;
    auto ports = open_trial_ports(host);
    auto ends = NodeLink::connected_pair();
    if (!ports || !ends) return trial;
    trial.address = ports->address;
    trial.link = std::move(ends->first);
    trial.thread =
        std::jthread([ports = *std::move(ports), link = std::move(ends->second),
                      deadline]() mutable { join_trial(std::move(ports), link, deadline); });
    return trial;
}

// Adds findings for nodes that reported but left since, as the framework would wait for them in
// vain, and for nodes that were not measured. Silent nodes get theirs in add_silent_ranks().
void add_lost_nodes(std::vector<Report>& reports, const std::vector<TrialMember>& members,
                    const std::vector<TrialResult>& results, const SilentRanks& silent) {
    for (const TrialMember& member : members) {
        const bool has_left = !member.link.is_open();
        const bool is_measured = std::ranges::count(results, member.node, &TrialResult::node) > 0;
        if (!has_left && (is_measured || !member.address || members.size() < 2)) continue;
        if (!has_left && silent.nodes.contains(member.node)) continue;
        for (Report& report : reports) {
            if (report.node != member.node || !report.keeps_connection) continue;
            report.findings.push_back((has_left ? fatal : warning)(
                "network", has_left ? "its first rank left the check" : "not measured in time",
                "see that node's load and its own messages", network_check.name));
        }
    }
}

// Adds findings for ranks that reported but do not answer any more: the verdict may not reach them.
void add_silent_ranks(std::vector<Report>& reports, const std::vector<TrialMember>& members,
                      const SilentRanks& silent) {
    for (Report& report : reports) {
        const bool has_left = std::ranges::any_of(members, [&](const auto& member) {
            return member.node == report.node && !member.link.is_open();
        });
        const bool is_silent = report.keeps_connection
                                   ? silent.nodes.contains(report.node) && !has_left
                                   : silent.ranks.contains(report.rank);
        if (!is_silent) continue;
        report.findings.push_back(
            fatal("check",
                  formatted("reported, but did not answer within {} s after that",
                            answer_timeout.count()),
                  "see that node's load and its kernel log (dmesg), or leave it out with --exclude",
                  "reports"));
    }
}

class StepCheck {
  public:
    StepCheck(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
              seconds report_timeout)
        : facts_(facts),
          own_task_(*facts.own_task),
          layout_(own_task_.place.layout),
          checks_(checks),
          start_(start),
          report_timeout_(report_timeout),
          handshake_{"check",
                     formatted("{}.{}", own_task_.place.step.job, own_task_.place.step.step),
                     read_secret_variable(ProcessEnvironment())} {}

    // No rank exits before everything is sent and printed: with KillOnBadExit, the first failing
    // exit ends the others. The first rank of a node passes the verdict on to its other ranks.
    RankExit run_first_rank(const std::function<ExitCode(const Verdict&)>& print_verdict) {
        const NodeIndex node = own_task_.place.node;
        std::set<std::uint32_t> ranks;
        for (std::uint32_t local = 1; local < layout_.tasks_on(node); ++local) {
            ranks.insert(layout_.rank(node, LocalRank{local}).value);
        }
        OtherLocalRanks others(listen_by_name(socket_name("")), std::move(ranks));
        RankExit result;
        if (own_task_.task().rank == GlobalRank{0}) {
            result.rank_code = run_rank0(others, print_verdict);
            result.step_code = result.rank_code;
        } else {
            result = report_to_rank0(&others);
        }
        if (lacks_verdict(result)) report_silent_rank(GlobalRank{0});
        const int status = static_cast<int>(result.step_code.value_or(ExitCode::timed_out));
        // The others have reported and connect at once; a missing one may never connect.
        others.send_verdict(status, Clock::now() + seconds(3));
        return result;
    }

    RankExit run_other_rank() {
        RankExit result = report_to_rank0(nullptr);
        if (result.rank_code == ExitCode::timed_out) return result;
        // The first rank receives the verdict, or reports that it did not, before this deadline.
        const auto status =
            await_verdict(socket_name(""), own_task_.task().rank.value, report_deadline(),
                          report_deadline() + max_verdict_time + seconds(2));
        if (status) result.step_code = static_cast<ExitCode>(*status);
        const GlobalRank first_rank = layout_.rank(own_task_.place.node, LocalRank{0});
        if (lacks_verdict(result)) report_silent_rank(first_rank);
        return result;
    }

  private:
    Deadline report_deadline() const { return start_ + report_timeout_; }

    // Used if the rendezvous port fails. All ranks compute the same one whatever their variables
    // are, and hardly any framework listens on it.
    std::uint16_t own_spare_port() const {
        return spare_port(own_task_.place.step, default_ports, 1).value_or(0);
    }

    std::string socket_name(const char* purpose) const {
        return verdict_socket_name(handshake_.step + purpose, own_task_.place.node.value,
                                   handshake_.secret);
    }

    // Whether the rank reported but received no verdict.
    static bool lacks_verdict(const RankExit& result) {
        return result.rank_code != ExitCode::timed_out && !result.step_code;
    }

    // Where rank 0 listens: at the rendezvous, and on the spare port if that fails.
    std::vector<Endpoint> endpoints() const {
        const Rendezvous& rendezvous = own_task_.plan.rendezvous;
        const std::uint16_t spare = own_spare_port();
        return {{rendezvous.address, rendezvous.port},
                {layout_.hosts().name(rank0_node(layout_)), spare},
                {rendezvous.address, spare}};
    }

    // `others`: of the same node if this is its first rank, which then waits for the verdict; null
    // for other ranks.
    RankExit report_to_rank0(OtherLocalRanks* others) {
        LocalReport local = run_checks(facts_, checks_);
        auto ports = local.trial_host.empty() ? std::nullopt : open_trial_ports(local.trial_host);
        if (ports) local.report.trial_address = to_text(ports->address);
        local.report.keeps_connection = others != nullptr;
        // Early enough to print what is not delivered before rank 0 ends the step.
        auto rank0 = deliver(local.report, endpoints(), handshake_,
                             report_deadline() - report_timeout_ / 10);
        if (!rank0) {
            print_undelivered(local.report, rank0.error());
            return {ExitCode::timed_out};
        }
        RankExit result;
        if (has_fatal(local.report.findings)) result.rank_code = ExitCode::check_failed;
        if (others != nullptr) result.step_code = follow_rank0(std::move(ports), *rank0, *others);
        return result;
    }

    // Joins the network trial, answers which ranks of the node are silent, and receives the
    // verdict.
    std::optional<ExitCode> follow_rank0(std::optional<TrialPorts> ports, NodeLink& rank0,
                                         OtherLocalRanks& others) const {
        const Deadline deadline = report_deadline() + max_verdict_time;
        auto line = join_trial(std::move(ports), rank0, deadline);
        if (line == trial_prefix::question) {
            const auto silent = others.find_silent(Clock::now() + answer_timeout);
            rank0.send(std::string(trial_prefix::answer) + silent_ranks_text(silent), deadline);
            line = rank0.wait_for_line(deadline);
        }
        if (!line || !line->starts_with(trial_prefix::verdict)) return std::nullopt;
        const auto status =
            whole_number(std::string_view(*line).substr(trial_prefix::verdict.size()));
        return status ? std::optional(static_cast<ExitCode>(*status)) : std::nullopt;
    }

    // A rank that cannot reach rank 0 has to print its findings itself. If the whole node cannot,
    // or lacks the plugin, one rank prints for all: the first, if it cannot reach rank 0 either.
    void print_undelivered(const Report& report, const Error& problem) const {
        constexpr std::chrono::milliseconds head_start{200};  // for the first rank
        if (own_task_.place.local != LocalRank{0}) std::this_thread::sleep_for(head_start);
        // Open for one rank of the node.
        const Socket claim = listen_by_name(socket_name(".word"));
        const bool has_own_findings =
            has_fatal(report.findings) && !spec_without_plugin(*facts_.environment);
        if (!claim.is_open() && !has_own_findings) return;
        const auto print = [&](const std::string& object, const Error& error) {
            print_error_line(formatted("distgpu: rank {} on {}: {}: {}; {}", report.rank,
                                       own_task_.plan.node_name, object, error.problem,
                                       error.remedy));
        };
        for (const Finding& finding : report.findings) {
            if (is_fatal(finding)) print(finding.error.object, finding.error);
        }
        print("rank 0 at " + problem.object, problem);
        // Keep the claim until the node's other ranks have seen it.
        std::this_thread::sleep_for(seconds(1));
    }

    // Prints which rank this one waited for, as no other rank may know.
    void report_silent_rank(GlobalRank silent) const {
        // Many ranks wait for the same one. The next rank after it prints first, and its exit ends
        // the step; the others print only if that one is silent too.
        const bool has_rank0_first = rank0_node(layout_) == NodeIndex{0};
        const bool prints_first = own_task_.place.local == LocalRank{0}
                                      ? own_task_.place.node.value == (has_rank0_first ? 1 : 0)
                                      : own_task_.place.local == LocalRank{1};
        if (!prints_first) std::this_thread::sleep_for(seconds(2));
        print_error_line(
            formatted("distgpu: check: rank {0} on {1}: rank {2} on {3} did not answer; see that "
                      "node's load and its kernel log (dmesg), or leave it out with --exclude={3}",
                      own_task_.task().rank.value, own_task_.plan.node_name, silent.value,
                      layout_.hosts().name(layout_.place(silent).node)));
    }

    // Rank 0 listens on the rendezvous port, as its framework would, and on the spare port.
    std::vector<Socket> listen(Findings& findings) const {
        std::vector<Socket> listeners;
        const std::uint16_t port = own_task_.plan.rendezvous.port;
        if (auto listener = listen_on(port)) {
            listeners.push_back(*std::move(listener));
        } else {
            findings.push_back(fatal(formatted("port {} on {}", port, own_task_.plan.node_name),
                                     listener.error().problem, port_in_use_remedy(own_task_),
                                     ports_check.name));
        }
        if (auto spare = listen_on(own_spare_port())) {
            listeners.push_back(*std::move(spare));
        }
        return listeners;
    }

    // The nodes whose first rank has a link, in the order of the step's nodes.
    std::vector<TrialMember> trial_members(const Report& own_report, LocalTrial& local,
                                           GatheredReports& gathered) const {
        std::vector<TrialMember> members;
        if (local.link) {
            members.push_back({own_task_.place.node.value, local.address, *std::move(local.link),
                               more_addresses(own_report.more_hosts, local.address)});
        }
        for (const Report& report : gathered.reports) {
            const Placement place = layout_.place(GlobalRank{report.rank});
            const auto link = gathered.links.find(report.rank);
            if (link == gathered.links.end() || place.local_rank != LocalRank{0}) continue;
            const auto address = parse_trial_address(report.trial_address);
            members.push_back({place.node.value, address, std::move(link->second),
                               more_addresses(report.more_hosts, address)});
        }
        std::ranges::sort(
            members, [](const auto& left, const auto& right) { return left.node < right.node; });
        return members;
    }

    // Appends the others' reports. Failing to reach the rendezvous is not an additional finding if
    // rank 0 could not listen there, if the rank has another rendezvous, or if the rank found the
    // reason itself: the address resolves to another machine on its node.
    void add_other_reports(std::vector<Report>& reports, std::vector<Report> others,
                           bool has_listened) const {
        const std::string object = rendezvous_object(own_task_.plan.rendezvous);
        for (Report& other : others) {
            const bool has_reason =
                std::ranges::any_of(other.findings, [&](const Finding& finding) {
                    return is_fatal(finding) && finding.error.object == object;
                });
            if (other.rendezvous_error && has_listened && !has_reason &&
                other.rendezvous == reports.front().rendezvous) {
                other.findings.push_back(
                    {Finding::Severity::fatal, *other.rendezvous_error, "names"});
            }
            reports.push_back(std::move(other));
        }
    }

    ExitCode run_rank0(OtherLocalRanks& others,
                       const std::function<ExitCode(const Verdict&)>& print_verdict) {
        raise_open_file_limit();  // for a link to each node
        // Listen before the checks: the others are already connecting.
        Findings port_findings;
        std::vector<Socket> listeners = listen(port_findings);
        LocalReport local = run_checks(facts_, checks_);
        LocalTrial trial =
            start_local_trial(local.trial_host, Clock::now() + report_timeout_ + max_trial_time);
        local.report.keeps_connection = true;
        if (trial.address) local.report.trial_address = to_text(*trial.address);
        GatheredReports gathered =
            gather_reports(listeners, handshake_, layout_.task_count(), report_deadline());
        listeners.clear();
        std::vector<TrialMember> members = trial_members(local.report, trial, gathered);
        auto results = run_network_trial(members);
        auto faults = find_network_faults(results);
        if (has_slow_nodes(faults)) {
            results = run_network_trial(members);
            faults = common_faults(faults, find_network_faults(results));
        }

        std::vector<Report> reports{std::move(local.report)};
        Findings& findings = reports.front().findings;
        findings.insert(findings.begin(), port_findings.begin(), port_findings.end());
        const Findings warnings = report_warnings(gathered, reports.front().rendezvous);
        findings.insert(findings.end(), warnings.begin(), warnings.end());
        add_other_reports(reports, std::move(gathered.reports), port_findings.empty());
        add_network_findings(reports, faults, results, layout_);
        add_interface_findings(reports, find_unusable_interfaces(results), layout_);
        // If ranks are missing, the step fails anyway.
        SilentRanks silent;
        if (reports.size() == layout_.task_count()) {
            silent = find_silent_ranks(members, own_task_.place.node.value, [&] {
                return others.find_silent(Clock::now() + answer_timeout);
            });
        }
        add_lost_nodes(reports, members, results, silent);
        add_silent_ranks(reports, members, silent);
        Verdict verdict = compute_verdict(own_task_.request.framework->mode, layout_, reports,
                                          report_timeout_, checks_);
        for (const NodeRates& rates : node_rates(results)) verdict.nodes[rates.node].rates = rates;
        // A silent rank may not receive the verdict, so not all ranks would exit by themselves.
        if (!silent.empty()) verdict.code = ExitCode::timed_out;
        verdict.duration = Clock::now() - start_;
        const ExitCode code = print_verdict(verdict);
        send_verdict(members, static_cast<int>(code));
        return code;
    }

    const CheckFacts& facts_;
    const OwnTask& own_task_;
    const StepLayout& layout_;
    const Checks& checks_;
    Clock::time_point start_;
    seconds report_timeout_;
    Handshake handshake_;
};

}  // namespace

RankExit check_step(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
                    seconds report_timeout,
                    const std::function<ExitCode(const Verdict&)>& print_verdict) {
    StepCheck check(facts, checks, start, report_timeout);
    return facts.own_task->place.local == LocalRank{0} ? check.run_first_rank(print_verdict)
                                                       : check.run_other_rank();
}

}  // namespace distgpu
