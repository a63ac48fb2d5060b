// Makes a rank's report, encodes it as a line of JSON, and sends it to rank 0.
#include "base/format.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "check/step_check.h"
#include "mapping/fabric/nccl_names.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/network.h"
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
    if (named.empty()) return facts.own_task->facts.interface;
    const auto used = nccl_interfaces(named, usable_interfaces());
    if (!used.empty()) return used.front();
    return named.front() == '=' ? named.substr(1) : named;  // '=' before a whole name
}

// Whether NCCL_SOCKET_IFNAME is not distgpu's.
bool has_chosen_interface(const CheckFacts& facts) {
    const std::string named = facts.environment->text("NCCL_SOCKET_IFNAME");
    return !named.empty() && named != "=" + facts.own_task->facts.interface;
}

// The PCI address of the GPU that the task has by this name: "0", "GPU-5e8f..."; empty if unknown.
std::string pci_of(std::string_view name, const BoundRecord& bound, const NodeTopology* topology) {
    const auto recorded = std::ranges::find(bound.gpus, name, &BoundGpu::name);
    if (recorded != bound.gpus.end()) return recorded->pci;
    if (topology == nullptr || name.empty()) return "";
    const auto by_uuid = std::ranges::find(topology->gpus, name, &Gpu::uuid);
    return by_uuid == topology->gpus.end() ? "" : by_uuid->pci;
}

std::vector<std::string> names_in(std::string_view list) {
    if (list.empty()) return {};
    const auto names = comma_items(list);
    return {names.begin(), names.end()};
}

// The GPUs by which compare_visible_gpus() finds ranks that share some against the plan. The
// plan that this process computes cannot tell: it begins with the variables as they are now.
void add_gpus(Report& report, const CheckFacts& facts) {
    const Environment& environment = *facts.environment;
    const GpuOwner owner = gpu_owner(environment);
    if (owner == GpuOwner::jobs) return;
    const std::string visible = visible_gpus(environment);
    const BoundRecord bound = read_bound_record(environment.text(bound_variable));
    if (bound.gpus.empty() && owner == GpuOwner::step) {
        // Slurm's numbers, which are the same for all tasks of a node.
        report.given_gpus = names_in(environment.text("SLURM_STEP_GPUS"));
        report.visible_gpus = names_in(visible);
        return;
    }
    for (const BoundGpu& gpu : bound.gpus) report.given_gpus.push_back(gpu.pci);
    for (const std::string& name : names_in(visible)) {
        report.visible_gpus.push_back(pci_of(name, bound, facts.own_task->node.topology.get()));
    }
    if (std::ranges::count(report.visible_gpus, "") > 0) report.visible_gpus.clear();
}

// Every check gets at least 100 ms, even if an earlier one used up the time.
CheckResult run(const NamedCheck& check, CheckFacts facts) {
    constexpr std::chrono::milliseconds min_time{100};
    facts.deadline = std::max(facts.deadline, Clock::now() + min_time);
    const Deadline deadline = facts.deadline;
    auto result =
        call_within(deadline, [run = check.run, facts = std::move(facts)] { return run(facts); });
    if (result) return *std::move(result);
    return {{fatal(formatted("check {}", check.name), "did not finish",
                   formatted("see the kernel log (dmesg) on that node; --skip {} leaves the check "
                             "out",
                             check.name))}};
}

// Seconds since 1970.
double seconds_of(std::chrono::system_clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double clock_now() {
    return seconds_of(std::chrono::system_clock::now());
}

// Adds a finding if the report's clock is off: the report was sent between `greeted` and now.
void check_clock(Report& report, double greeted) {
    constexpr double max_error = 1;
    const double sent_at = std::exchange(report.clock, 0);  // not needed any more
    if (sent_at == 0) return;
    const double error = sent_at - std::clamp(sent_at, greeted, std::max(greeted, clock_now()));
    if (std::abs(error) <= max_error) return;
    report.findings.push_back(fatal("clock",
                                    formatted("{:.0f} s {} that of rank 0's node", std::abs(error),
                                              error > 0 ? "ahead of" : "behind"),
                                    "start an NTP service, such as chronyd, on that node",
                                    nodes_check.name));
}

// Collects the reports on rank 0.
class ReportCollector {
  public:
    ReportCollector(const std::vector<Socket>& listeners, const Handshake& handshake,
                    std::uint32_t world_size)
        : listeners_(listeners),
          handshake_(handshake),
          world_size_(world_size),
          server_(handshake) {}

    GatheredReports run(Deadline deadline) {
        while (reports_.size() + 1 < world_size_ && Clock::now() < deadline) {
            wait_and_handle(deadline);
        }
        // The side that closes a connection keeps its ports busy for a minute (TIME_WAIT). Let the
        // others close, because a framework listens here next.
        const Deadline soon = Clock::now() + 200ms;
        while (!closing_.empty() && Clock::now() < soon) wait_and_handle(soon);
        GatheredReports gathered{
            {}, server_.proof(), server_.rejected_count() + ignored_, std::move(links_)};
        gathered.reports.reserve(reports_.size());
        for (auto& [rank, report] : reports_) gathered.reports.push_back(std::move(report));
        return gathered;
    }

  private:
    void wait_and_handle(Deadline deadline) {
        std::vector<pollfd> waiting;
        for (const Socket& listener : listeners_) waiting.push_back({listener.fd(), POLLIN, 0});
        for (const Socket& peer : closing_) waiting.push_back({peer.fd(), POLLIN, 0});
        server_.add_to(waiting);
        poll_until(waiting, server_.next_check(deadline));
        for (const Socket& listener : listeners_) {
            static_cast<void>(server_.accept_clients(listener));
        }
        for (VerifiedClient& client : server_.verified_clients()) accept_report(std::move(client));
        std::erase_if(closing_, is_closed);
    }

    // A client sends nothing after its report, so anything to read is the end of the connection.
    static bool is_closed(const Socket& peer) {
        std::array<char, 64> piece{};
        const ssize_t got = recv(peer.fd(), piece.data(), piece.size(), 0);
        return got >= 0 || (errno != EAGAIN && errno != EINTR);
    }

    void accept_report(VerifiedClient client) {
        auto report = decode_report(client.text);
        if (!report || report->rank == 0 || report->rank >= world_size_) {
            ++ignored_;
            return;
        }
        // A client that gets no answer tries again.
        if (!server_.send_welcome(client)) return;
        check_clock(*report, seconds_of(client.greeted_at));
        const std::uint32_t rank = report->rank;
        if (report->keeps_connection) {
            links_.insert_or_assign(rank, NodeLink(std::move(client.socket), server_.proof(),
                                                   handshake_.secret, client.challenge));
        } else {
            closing_.push_back(std::move(client.socket));
        }
        reports_.insert_or_assign(rank, *std::move(report));
    }

    const std::vector<Socket>& listeners_;
    const Handshake& handshake_;
    std::uint32_t world_size_;
    HandshakeServer server_;
    std::uint32_t ignored_ = 0;
    std::vector<Socket> closing_;  // connections whose report was accepted
    std::map<std::uint32_t, Report> reports_;
    std::map<std::uint32_t, NodeLink> links_;
};

Result<NodeLink> send_report(const Endpoint& endpoint, Report report, const Handshake& handshake,
                             Deadline deadline) {
    auto rank0 = connect_to_server(handshake, endpoint.host, endpoint.port, deadline);
    if (!rank0) return rank0.error();
    report.clock = clock_now();
    return authenticate(*std::move(rank0), handshake, encode_report(report), deadline)
        .transform([&](ServerConnection connection) {
            return NodeLink(std::move(connection.socket), connection.proof, handshake.secret,
                            std::move(connection.challenge));
        });
}

}  // namespace

LocalReport run_checks(const CheckFacts& facts, const Checks& checks) {
    const Rendezvous& rendezvous = facts.own_task->plan.rendezvous;
    LocalReport local_report;
    Report& report = local_report.report;
    report.rank = facts.own_task->task().rank.value;
    report.node = facts.own_task->place.node.value;
    report.cpus = facts.cpus.to_string();
    report.gpus = visible_gpu_count(*facts.environment, facts.own_task->node.topology.get());
    report.interface = interface_of_task(facts);
    report.has_chosen_interface = has_chosen_interface(facts);
    add_gpus(report, facts);
    const bool checks_fabric =
        std::find(checks.begin(), checks.end(), &fabric_check) != checks.end();
    report.ports = checks_fabric ? "" : "not checked";
    // The plugin's arguments in plugstack.conf, such as ports=, are unknown where it is not loaded.
    if (!spec_without_plugin(*facts.environment)) {
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
        if (!result.network.empty()) report.network = result.network;
        if (!result.trial_host.empty()) local_report.trial_host = result.trial_host;
        // Otherwise only its bootstrap uses them, and only the first.
        if (report.network.starts_with("sockets")) report.more_hosts = result.more_hosts;
    }
    return local_report;
}

std::string encode_report(const Report& report) {
    return fields_json(report).line();
}

std::optional<Report> decode_report(std::string_view line) {
    constexpr std::size_t max_field_length = 500;
    return read_fields<Report>(line, max_field_length);
}

GatheredReports gather_reports(const std::vector<Socket>& listeners, const Handshake& handshake,
                               std::uint32_t world_size, Deadline deadline) {
    return ReportCollector(listeners, handshake, world_size).run(deadline);
}

Findings report_warnings(const GatheredReports& gathered, const std::string& rendezvous) {
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
                         const Handshake& handshake, Deadline deadline) {
    const Endpoint& first = endpoints.front();
    std::optional<Error> first_problem;
    for (;;) {
        auto sent = send_report(first, report, handshake, deadline);
        if (sent) return sent;
        // If the time ran out during this attempt, an earlier one may give a better reason.
        if (Clock::now() < deadline || !first_problem) first_problem = sent.error();
        for (std::size_t i = 1; i < endpoints.size(); ++i) {
            if (!connect_to_server(handshake, endpoints[i].host, endpoints[i].port, deadline)) {
                continue;
            }
            // Rank 0 may have started since the first attempt, so try that endpoint again. This may
            // take longer than a server waits for a client, so the connection above is not reused.
            sent = send_report(first, report, handshake, deadline);
            if (sent) return sent;
            report.rendezvous_error = sent.error();
            auto sent_elsewhere = send_report(endpoints[i], report, handshake, deadline);
            if (sent_elsewhere) return sent_elsewhere;
            break;
        }
        if (Clock::now() >= deadline) return *first_problem;
        std::this_thread::sleep_for(100ms);
    }
}

}  // namespace distgpu
