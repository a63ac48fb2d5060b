#include "check/step_check.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "meet/agreement.h"
#include "node/machine.h"
#include "node/step_variables.h"
#include "output.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

using std::chrono::seconds;

// After the reports: the trial of the network, and the question who is still there.
constexpr seconds longest_verdict = longest_trial + longest_question;

// Rank 0's own node takes part as the others do, in a thread of its own. The thread ends when its
// link is closed or it has heard the verdict.
struct LocalTrial {
    std::jthread thread;                  // before the link, so that it is joined after it
    std::optional<TrialAddress> address;  // nothing: the node takes no part
    std::optional<NodeLink> link;
};

LocalTrial start_local_trial(const std::string& host, Deadline deadline) {
    LocalTrial trial;
    if (host.empty()) return trial;
    auto ports = open_trial_ports(host);
    auto ends = NodeLink::within_process();
    if (!ports || !ends) return trial;
    trial.address = ports->address;
    trial.link = std::move(ends->first);
    trial.thread =
        std::jthread([ports = *std::move(ports), link = std::move(ends->second),
                      deadline]() mutable { take_part(std::move(ports), link, deadline); });
    return trial;
}

// A node that reported and has gone since would be waited for in vain. Of one that is silent more
// is said elsewhere.
void add_lost(std::vector<Report>& reports, const std::vector<TrialMember>& members,
              const std::vector<TrialResult>& results, const Silence& silence) {
    for (const TrialMember& member : members) {
        const bool left = !member.link.is_open();
        const bool measured = std::ranges::count(results, member.node, &TrialResult::node) > 0;
        if (!left && (measured || !member.address || members.size() < 2)) continue;
        if (!left && silence.nodes.contains(member.node)) continue;
        for (Report& own : reports) {
            if (own.node != member.node || !own.stays) continue;
            own.findings.push_back((left ? fatal : warning)(
                "network", left ? "its first rank left the check" : "not measured in time",
                "see that node's load and its own messages", network_check.name));
        }
    }
}

// Ranks that reported and do not answer any more: the verdict may not reach them.
void add_silent(std::vector<Report>& reports, const std::vector<TrialMember>& members,
                const Silence& silence) {
    for (Report& report : reports) {
        const bool left = std::ranges::any_of(members, [&](const auto& member) {
            return member.node == report.node && !member.link.is_open();
        });
        const bool is_silent = report.stays ? silence.nodes.contains(report.node) && !left
                                            : silence.ranks.contains(report.rank);
        if (!is_silent) continue;
        report.findings.push_back(
            fatal("check",
                  formatted("reported, but did not answer within {} s after that",
                            longest_answer.count()),
                  "see that node's load and its kernel log (dmesg), or leave it out with --exclude",
                  "reports"));
    }
}

class StepCheck {
  public:
    StepCheck(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
              seconds patience)
        : facts_(facts),
          own_(*facts.own),
          layout_(own_.place.layout),
          checks_(checks),
          start_(start),
          patience_(patience),
          meeting_{"check", formatted("{}.{}", own_.place.step.job, own_.place.step.step),
                   handed_secret(ProcessEnvironment())} {}

    // No rank ends before all is told: where KillOnBadExit is set, the first end ends the others. A
    // node's other ranks hear the verdict from its first.
    RankEnd as_first(const std::function<ExitCode(const Verdict&)>& show) {
        const NodeIndex node = own_.place.node;
        std::set<std::uint32_t> ranks;
        for (std::uint32_t local = 1; local < layout_.tasks_on(node); ++local) {
            ranks.insert(layout_.rank(node, LocalRank{local}).value);
        }
        OtherRanks others(listen_by_name(agreement("")), std::move(ranks));
        RankEnd end;
        if (own_.task().rank == GlobalRank{0}) {
            end.own = as_rank0(others, show);
            end.verdict = end.own;
        } else {
            end = report(&others);
        }
        if (lacks_verdict(end)) say_silent(GlobalRank{0});
        const int status = static_cast<int>(end.verdict.value_or(ExitCode::timed_out));
        // They have reported, and come at once; one that is missing may never come.
        others.announce(status, Clock::now() + seconds(3));
        return end;
    }

    RankEnd as_other() {
        RankEnd end = report(nullptr);
        if (end.own == ExitCode::timed_out) return end;
        // The first rank hears it, or says that it does not, before.
        const auto status = await_verdict(agreement(""), own_.task().rank.value, reported(),
                                          reported() + longest_verdict + seconds(2));
        if (status) end.verdict = static_cast<ExitCode>(*status);
        if (lacks_verdict(end)) say_silent(layout_.rank(own_.place.node, LocalRank{0}));
        return end;
    }

  private:
    Deadline reported() const { return start_ + patience_; }

    // Beside the rendezvous, where that fails: known to all ranks whatever their variables say, and
    // one on which hardly any framework listens.
    std::uint16_t own_spare_port() const {
        return spare_port(own_.place.step, default_ports, 1).value_or(0);
    }

    std::string agreement(const char* purpose) const {
        return agreement_name(meeting_.step + purpose, own_.place.node.value, meeting_.secret);
    }

    // It reported, and was told nothing.
    static bool lacks_verdict(const RankEnd& end) {
        return end.own != ExitCode::timed_out && !end.verdict;
    }

    // Where rank 0 is: at the rendezvous, and where that fails.
    std::vector<Endpoint> endpoints() const {
        const Rendezvous& rendezvous = own_.plan.rendezvous;
        const std::uint16_t spare = own_spare_port();
        return {{rendezvous.address, rendezvous.port},
                {layout_.hosts().name(rank0_node(layout_)), spare},
                {rendezvous.address, spare}};
    }

    // Reports to rank 0. `others`: of its node, where it is the first rank, which then hears the
    // verdict too.
    RankEnd report(OtherRanks* others) {
        LocalReport looked = look(facts_, checks_);
        auto ports = looked.trial_host.empty() ? std::nullopt : open_trial_ports(looked.trial_host);
        if (ports) looked.report.trial = to_text(ports->address);
        looked.report.stays = others != nullptr;
        // What it then says has to come before rank 0 ends the step.
        auto rank0 = deliver(looked.report, endpoints(), meeting_, reported() - patience_ / 10);
        if (!rank0) {
            say_undelivered(looked.report, rank0.error());
            return {ExitCode::timed_out};
        }
        RankEnd end;
        if (any_fatal(looked.report.findings)) end.own = ExitCode::check_failed;
        if (others != nullptr) end.verdict = hear_rank0(std::move(ports), *rank0, *others);
        return end;
    }

    std::optional<ExitCode> hear_rank0(std::optional<TrialPorts> ports, NodeLink& rank0,
                                       OtherRanks& others) const {
        const Deadline deadline = reported() + longest_verdict;
        auto line = take_part(std::move(ports), rank0, deadline);
        if (line == trial_words::question) {
            const auto silent = others.ask(Clock::now() + longest_answer);
            rank0.send(std::string(trial_words::answer) + silent_ranks_text(silent), deadline);
            line = rank0.wait_for_line(deadline);
        }
        if (!line || !line->starts_with(trial_words::verdict)) return std::nullopt;
        const auto status =
            whole_number(std::string_view(*line).substr(trial_words::verdict.size()));
        return status ? std::optional(static_cast<ExitCode>(*status)) : std::nullopt;
    }

    // Nobody else will say what a rank found that cannot tell rank 0. Where its whole node cannot,
    // or lacks the plugin, one rank speaks for all: its first, where that one cannot either.
    void say_undelivered(const Report& report, const Error& problem) const {
        // The first rank goes first, where it has something to say at all.
        constexpr std::chrono::milliseconds turn{200};
        if (own_.place.local != LocalRank{0}) std::this_thread::sleep_for(turn);
        const Socket voice = listen_by_name(agreement(".word"));  // closed: another has it
        const bool has_own_news =
            any_fatal(report.findings) && !unanswered_spec(*facts_.environment);
        if (!voice.is_open() && !has_own_news) return;
        const auto say = [&](const std::string& object, const Error& error) {
            distgpu::say(formatted("distgpu: rank {} on {}: {}: {}; {}", report.rank,
                                   own_.plan.node_name, object, error.problem, error.remedy));
        };
        for (const Finding& finding : report.findings) {
            if (is_fatal(finding)) say(finding.error.object, finding.error);
        }
        say("rank 0 at " + problem.object, problem);
        // Until the node's others have seen that the word is taken.
        std::this_thread::sleep_for(seconds(1));
    }

    // What it waited for: nobody else may know.
    void say_silent(GlobalRank silent) const {
        // Many ranks wait for the same one. The next after it speaks, whose end ends the step; the
        // others only if that one is silent too.
        const bool is_zero = rank0_node(layout_) == NodeIndex{0};
        const bool speaks_first = own_.place.local == LocalRank{0}
                                      ? own_.place.node.value == (is_zero ? 1 : 0)
                                      : own_.place.local == LocalRank{1};
        if (!speaks_first) std::this_thread::sleep_for(seconds(2));
        say(
            formatted("distgpu: check: rank {0} on {1}: rank {2} on {3} did not answer; see that "
                      "node's load and its kernel log (dmesg), or leave it out with --exclude={3}",
                      own_.task().rank.value, own_.plan.node_name, silent.value,
                      layout_.hosts().name(layout_.place(silent).node)));
    }

    // Rank 0 listens on the rendezvous port as its framework would, and on the spare one.
    std::vector<Socket> listen(Findings& findings) const {
        std::vector<Socket> listeners;
        const std::uint16_t port = own_.plan.rendezvous.port;
        if (auto listener = listen_on(port)) {
            listeners.push_back(*std::move(listener));
        } else {
            findings.push_back(fatal(formatted("port {} on {}", port, own_.plan.node_name),
                                     listener.error().problem, taken_port_remedy(own_),
                                     ports_check.name));
        }
        if (auto spare = listen_on(own_spare_port())) {
            listeners.push_back(*std::move(spare));
        }
        return listeners;
    }

    // The nodes with the link of their first rank, in the order of the step's nodes.
    std::vector<TrialMember> members(LocalTrial& local, Gathered& gathered) const {
        std::vector<TrialMember> members;
        if (local.link) {
            members.push_back({own_.place.node.value, local.address, *std::move(local.link)});
        }
        for (const Report& report : gathered.reports) {
            const Placement place = layout_.place(GlobalRank{report.rank});
            const auto link = gathered.links.find(report.rank);
            if (link == gathered.links.end() || place.local_rank != LocalRank{0}) continue;
            members.push_back(
                {place.node.value, parse_trial_address(report.trial), std::move(link->second)});
        }
        std::ranges::sort(
            members, [](const auto& left, const auto& right) { return left.node < right.node; });
        return members;
    }

    // Appends the others' reports. That a rank did not reach the rendezvous is no finding if nobody
    // listened there, if the rank was told another address, or if it found the reason itself: that
    // the address leads elsewhere on its node.
    void add_others(std::vector<Report>& reports, std::vector<Report> others,
                    bool all_listened) const {
        const std::string object = address_object(own_.plan.rendezvous);
        for (Report& other : others) {
            const bool knows_why = std::ranges::any_of(other.findings, [&](const Finding& finding) {
                return is_fatal(finding) && finding.error.object == object;
            });
            if (other.unreached && all_listened && !knows_why &&
                other.rendezvous == reports.front().rendezvous) {
                other.findings.push_back({Finding::Weight::fatal, *other.unreached, "names"});
            }
            reports.push_back(std::move(other));
        }
    }

    ExitCode as_rank0(OtherRanks& others, const std::function<ExitCode(const Verdict&)>& show) {
        raise_open_files();  // for a link to each node
        // Before it looks at anything: the others are on their way.
        Findings of_ports;
        std::vector<Socket> listeners = listen(of_ports);
        LocalReport looked = look(facts_, checks_);
        LocalTrial local =
            start_local_trial(looked.trial_host, Clock::now() + patience_ + longest_trial);
        looked.report.stays = true;
        if (local.address) looked.report.trial = to_text(*local.address);
        Gathered gathered = gather(listeners, meeting_, layout_.task_count(), reported());
        listeners.clear();
        std::vector<TrialMember> members = this->members(local, gathered);
        auto results = try_network(members);
        auto faults = judge_network(results);
        if (has_slow(faults)) {
            results = try_network(members);
            faults = in_both(faults, judge_network(results));
        }

        std::vector<Report> reports{std::move(looked.report)};
        Findings& findings = reports.front().findings;
        findings.insert(findings.begin(), of_ports.begin(), of_ports.end());
        const Findings said = findings_of(gathered, reports.front().rendezvous);
        findings.insert(findings.end(), said.begin(), said.end());
        add_others(reports, std::move(gathered.reports), of_ports.empty());
        add_network_findings(reports, faults, layout_);
        // Of a step that lacks ranks nobody starts anyway.
        Silence silence;
        if (reports.size() == layout_.task_count()) {
            silence = ask_members(members, own_.place.node.value,
                                  [&] { return others.ask(Clock::now() + longest_answer); });
        }
        add_lost(reports, members, results, silence);
        add_silent(reports, members, silence);
        Verdict verdict =
            verdict_of(own_.request.framework->mode, layout_, reports, patience_, checks_);
        for (const NodeRates& rates : node_rates(results)) verdict.nodes[rates.node].rates = rates;
        // Who does not answer may not hear of it either: not all ranks end by themselves.
        if (!silence.empty()) verdict.code = ExitCode::timed_out;
        verdict.took = Clock::now() - start_;
        const ExitCode code = show(verdict);
        tell_verdict(members, static_cast<int>(code));
        return code;
    }

    const CheckFacts& facts_;
    const OwnTask& own_;
    const StepLayout& layout_;
    const Checks& checks_;
    Clock::time_point start_;
    seconds patience_;
    Meeting meeting_;
};

}  // namespace

RankEnd check_step(const CheckFacts& facts, const Checks& checks, Clock::time_point start,
                   seconds patience, const std::function<ExitCode(const Verdict&)>& show) {
    StepCheck check(facts, checks, start, patience);
    return facts.own->place.local == LocalRank{0} ? check.as_first(show) : check.as_other();
}

}  // namespace distgpu
