// A rank's report: what it looks at, its line of JSON, and its way to rank 0.
#include "base/format.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "check/step_check.h"
#include "node/step_variables.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

std::string interface_of_task(const CheckFacts& facts) {
    std::string named = facts.environment->text("NCCL_SOCKET_IFNAME");
    if (named.empty()) return facts.own->facts.interface;
    return named.front() == '=' ? named.substr(1) : named;  // '=': the whole name is meant
}

// A check has its moment even where one before it used up all the time.
CheckResult run(const NamedCheck& check, CheckFacts facts) {
    constexpr std::chrono::milliseconds moment{100};
    facts.deadline = std::max(facts.deadline, Clock::now() + moment);
    const Deadline deadline = facts.deadline;
    auto result =
        within(deadline, [run = check.run, facts = std::move(facts)] { return run(facts); });
    if (result) return *std::move(result);
    return {{fatal(formatted("check {}", check.name), "did not finish",
                   formatted("see the kernel log (dmesg) on that node; --skip {} leaves the check "
                             "out",
                             check.name))}};
}

// Seconds since 1970, as this node's clock has them.
double seconds_of(std::chrono::system_clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double clock_now() {
    return seconds_of(std::chrono::system_clock::now());
}

// The report was written between the greeting and now: by how much its clock says otherwise.
void judge_clock(Report& report, double greeted) {
    constexpr double most = 1;
    const double reported = std::exchange(report.clock, 0);  // of no further use
    if (reported == 0) return;
    const double error = reported - std::clamp(reported, greeted, std::max(greeted, clock_now()));
    if (std::abs(error) <= most) return;
    report.findings.push_back(fatal("clock",
                                    formatted("{:.0f} s {} that of rank 0's node", std::abs(error),
                                              error > 0 ? "ahead of" : "behind"),
                                    "start an NTP service, such as chronyd, on that node",
                                    nodes_check.name));
}

// Rank 0's side.
class Gathering {
  public:
    Gathering(const std::vector<Socket>& listeners, const Meeting& meeting,
              std::uint32_t world_size)
        : listeners_(listeners), meeting_(meeting), world_size_(world_size), host_(meeting) {}

    Gathered run(Deadline deadline) {
        while (reports_.size() + 1 < world_size_ && Clock::now() < deadline) turn(deadline);
        // Who closes a connection keeps its ports busy for a minute (TIME_WAIT): that shall be the
        // others, as a framework listens here next.
        const Deadline soon = Clock::now() + 200ms;
        while (!leaving_.empty() && Clock::now() < soon) turn(soon);
        Gathered gathered{{}, host_.proof(), host_.strangers() + ignored_, std::move(links_)};
        gathered.reports.reserve(reports_.size());
        for (auto& [rank, report] : reports_) gathered.reports.push_back(std::move(report));
        return gathered;
    }

  private:
    void turn(Deadline deadline) {
        std::vector<pollfd> waiting;
        for (const Socket& listener : listeners_) waiting.push_back({listener.fd(), POLLIN, 0});
        for (const Socket& peer : leaving_) waiting.push_back({peer.fd(), POLLIN, 0});
        host_.add_to(waiting);
        poll_until(waiting, host_.next_turn(deadline));
        for (const Socket& listener : listeners_) static_cast<void>(host_.greet(listener));
        for (Guest& guest : host_.introduced()) take(std::move(guest));
        std::erase_if(leaving_, is_closed);
    }

    // A guest says nothing after its report: what can be read is the end of its connection.
    static bool is_closed(const Socket& peer) {
        std::array<char, 64> piece{};
        const ssize_t got = recv(peer.fd(), piece.data(), piece.size(), 0);
        return got >= 0 || (errno != EAGAIN && errno != EINTR);
    }

    void take(Guest guest) {
        auto report = decode_report(guest.text);
        if (!report || report->rank == 0 || report->rank >= world_size_) {
            ++ignored_;
            return;
        }
        // If it does not get the answer, it comes again.
        if (!host_.welcome(guest)) return;
        judge_clock(*report, seconds_of(guest.greeted));
        const std::uint32_t rank = report->rank;
        if (report->stays) {
            links_.insert_or_assign(rank, NodeLink(std::move(guest.socket), host_.proof(),
                                                   meeting_.secret, guest.challenge));
        } else {
            leaving_.push_back(std::move(guest.socket));
        }
        reports_.insert_or_assign(rank, *std::move(report));
    }

    const std::vector<Socket>& listeners_;
    const Meeting& meeting_;
    std::uint32_t world_size_;
    Host host_;
    std::uint32_t ignored_ = 0;
    std::vector<Socket> leaving_;  // whose report was taken
    std::map<std::uint32_t, Report> reports_;
    std::map<std::uint32_t, NodeLink> links_;
};

Result<NodeLink> tell(const Endpoint& endpoint, Report report, const Meeting& meeting,
                      Deadline deadline) {
    auto rank0 = reach(meeting, endpoint.host, endpoint.port, deadline);
    if (!rank0) return rank0.error();
    report.clock = clock_now();
    return introduce(*std::move(rank0), meeting, encode_report(report), deadline)
        .transform([&](Invitation taken) {
            return NodeLink(std::move(taken.socket), taken.proof, meeting.secret,
                            std::move(taken.challenge));
        });
}

}  // namespace

LocalReport look(const CheckFacts& facts, const Checks& checks) {
    const Rendezvous& rendezvous = facts.own->plan.rendezvous;
    LocalReport looked;
    Report& report = looked.report;
    report.rank = facts.own->task().rank.value;
    report.node = facts.own->place.node.value;
    report.cpus = facts.cpus.to_string();
    report.gpus = given_gpus(*facts.environment);
    report.interface = interface_of_task(facts);
    const bool seeks = std::find(checks.begin(), checks.end(), &fabric_check) != checks.end();
    report.ports = seeks ? "" : "not checked";
    // The administrator's arguments of a plugin that is not loaded are not known.
    if (!unanswered_spec(*facts.environment)) {
        report.rendezvous = host_and_port(rendezvous.address, rendezvous.port);
    }
    for (const NamedCheck* check : checks) {
        if (!check->applies(facts)) continue;
        CheckResult result = run(*check, facts);
        for (Finding& finding : result.findings) {
            if (finding.check.empty()) finding.check = check->name;
            report.findings.push_back(std::move(finding));
        }
        report.traits.insert(report.traits.end(), result.traits.begin(), result.traits.end());
        if (!result.ports.empty()) report.ports = result.ports;
        if (!result.trial_host.empty()) looked.trial_host = result.trial_host;
    }
    return looked;
}

std::string encode_report(const Report& report) {
    return fields_json(report).line();
}

std::optional<Report> decode_report(std::string_view line) {
    constexpr std::size_t longest_problem = 500;
    return read_fields<Report>(line, longest_problem);
}

Gathered gather(const std::vector<Socket>& listeners, const Meeting& meeting,
                std::uint32_t world_size, Deadline deadline) {
    return Gathering(listeners, meeting, world_size).run(deadline);
}

Findings findings_of(const Gathered& gathered, const std::string& rendezvous) {
    Findings findings;
    if (gathered.proof == Proof::none && !gathered.reports.empty()) {
        findings.push_back(warning("reports",
                                   "not proven to come from this step, because the plugin did not "
                                   "prepare it and MUNGE does not answer",
                                   "start it with srun --distgpu=MODE", "reports"));
    }
    if (gathered.ignored > 0) {
        findings.push_back(warning(
            "reports",
            formatted("ignored {} to rank 0 that did not come from this step",
                      counted(gathered.ignored, "connection")),
            formatted("find out which other program connects to {}", rendezvous), "reports"));
    }
    return findings;
}

Result<NodeLink> deliver(Report report, const std::vector<Endpoint>& endpoints,
                         const Meeting& meeting, Deadline deadline) {
    const Endpoint& first = endpoints.front();
    std::optional<Error> first_problem;
    for (;;) {
        auto told = tell(first, report, meeting, deadline);
        if (told) return told;
        // What an attempt says whose time ran out, an earlier one may know better.
        if (Clock::now() < deadline || !first_problem) first_problem = told.error();
        for (std::size_t i = 1; i < endpoints.size(); ++i) {
            if (!reach(meeting, endpoints[i].host, endpoints[i].port, deadline)) continue;
            // Rank 0 may have begun since: only now is the first endpoint's failure its own. This
            // may take as long as a host waits for a guest, so that connection is not kept for it.
            told = tell(first, report, meeting, deadline);
            if (told) return told;
            report.unreached = told.error();
            auto handed = tell(endpoints[i], report, meeting, deadline);
            if (handed) return handed;
            break;
        }
        if (Clock::now() >= deadline) return *first_problem;
        std::this_thread::sleep_for(100ms);
    }
}

}  // namespace distgpu
