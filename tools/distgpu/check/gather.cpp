// See gather.h. Rank 0 says "distgpu check NAME PROOF CHALLENGE", the other sends its report with
// that proof, rank 0 says "taken"; one line each. No name, proof or challenge has a space in it.
#include "check/gather.h"

#include "base/format.h"
#include "base/values.h"
#include "node/step_secret.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view taken = "taken\n";

std::string greeting(const CheckedStep& step) {
    return formatted("distgpu check {} ", step.name);
}

// A report in the largest proof, MUNGE's, with space to spare.
constexpr std::size_t longest_line = longest_report * 2;

// Seconds since 1970, as this node's clock has them.
double clock_now() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// Who is about to report.
struct Peer {
    Socket socket;
    std::string challenge;
    double greeted = 0;  // when, by clock_now()
    std::string received;
    bool taken = false;  // its report; it closes the connection
};

// The report was written between the greeting and now: by how much its clock says otherwise.
double clock_error(double reported, double greeted, double now) {
    if (reported > now) return reported - now;
    return reported < greeted ? reported - greeted : 0;
}

void judge_clock(Report& report, double greeted) {
    constexpr double most = 1;
    const double reported = std::exchange(report.clock, 0);  // of no further use
    if (reported == 0) return;
    const double error = clock_error(reported, greeted, clock_now());
    if (std::abs(error) <= most) return;
    report.findings.push_back({Finding::Weight::fatal,
                               {"clock",
                                formatted("{:.0f} s {} that of rank 0's node", std::abs(error),
                                          error > 0 ? "ahead of" : "behind"),
                                "start an NTP service, such as chronyd, on that node"},
                               "nodes"});
}

// Rank 0's side. Nobody's silence keeps it from the others.
class Gathering {
  public:
    Gathering(const std::vector<Socket>& listeners, const CheckedStep& step,
              std::uint32_t world_size)
        : listeners_(listeners),
          step_(step),
          world_size_(world_size),
          proof_(best_proof(step.secret)) {}

    Gathered run(Deadline deadline) {
        while (reports_.size() + 1 < world_size_ && Clock::now() < deadline) turn(deadline);
        let_close();
        Gathered gathered{{}, proof_, ignored_, std::move(links_)};
        gathered.reports.reserve(reports_.size());
        for (auto& [rank, report] : reports_) gathered.reports.push_back(std::move(report));
        return gathered;
    }

  private:
    // Fewer than the files that a process may usually have open; more wait in the backlog.
    static constexpr std::size_t most_peers = 512;

    void turn(Deadline deadline) {
        std::vector<pollfd> waiting;
        waiting.reserve(listeners_.size() + peers_.size());
        for (const Socket& listener : listeners_) {
            waiting.push_back({peers_.size() < most_peers ? listener.fd() : -1, POLLIN, 0});
        }
        for (const Peer& peer : peers_) waiting.push_back({peer.socket.fd(), POLLIN, 0});
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        const auto wait = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        if (poll(waiting.data(), waiting.size(), wait) <= 0) return;
        const std::size_t known = peers_.size();
        for (std::size_t i = 0; i < listeners_.size(); ++i) {
            if (waiting[i].revents != 0) greet_next(listeners_[i]);
        }
        for (std::size_t i = 0; i < known; ++i) {
            if (waiting[listeners_.size() + i].revents != 0) hear(peers_[i]);
        }
        const auto gone = [](const Peer& peer) { return !peer.socket.is_open(); };
        peers_.erase(std::remove_if(peers_.begin(), peers_.end(), gone), peers_.end());
    }

    // Who closes a connection keeps its ports busy for a minute (TIME_WAIT): that shall be the
    // others, as a framework listens here next.
    void let_close() {
        const Deadline soon = Clock::now() + 200ms;
        while (std::any_of(peers_.begin(), peers_.end(), std::mem_fn(&Peer::taken)) &&
               Clock::now() < soon) {
            turn(soon);
        }
    }

    void greet_next(const Socket& listener) {
        auto socket = accept_from(listener);
        const auto challenge = draw_secret();
        if (!socket || !challenge) return;
        Peer peer{*std::move(socket), challenge->to_string(), clock_now(), {}, false};
        const std::string line =
            formatted("{}{} {}\n", greeting(step_), name_of(proof_), peer.challenge);
        // A new connection's buffer takes a line at once.
        if (send_all(peer.socket, line, Clock::now())) peers_.push_back(std::move(peer));
    }

    void hear(Peer& peer) {
        std::array<char, 4096> piece{};
        const ssize_t got = recv(peer.socket.fd(), piece.data(), piece.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got > 0 && !peer.taken)
            peer.received.append(piece.data(), static_cast<std::size_t>(got));
        const std::size_t end = peer.received.find('\n');
        const bool complete = end != std::string::npos;
        if (got > 0 && !complete && peer.received.size() <= longest_line) return;
        // Who only looked whether the port is open has said nothing.
        if (!peer.taken && !peer.received.empty() && !(complete && take(peer, end))) ++ignored_;
        if (got <= 0 || !peer.taken) peer.socket = Socket();
    }

    // False: not a report of a rank of this step.
    bool take(Peer& peer, std::size_t end) {
        const auto text = proven(proof_, step_.secret, peer.challenge,
                                 std::string_view(peer.received).substr(0, end));
        auto report = text ? decode_report(*text) : std::nullopt;
        if (!report || report->rank == 0 || report->rank >= world_size_) return false;
        // If it does not get the answer, it comes again.
        if (!send_all(peer.socket, taken, Clock::now())) return true;
        peer.taken = true;
        judge_clock(*report, peer.greeted);
        const std::uint32_t rank = report->rank;
        if (report->stays) {
            links_.insert_or_assign(
                rank, NodeLink(std::move(peer.socket), proof_, step_.secret, peer.challenge));
        }
        reports_.insert_or_assign(rank, *std::move(report));
        return true;
    }

    const std::vector<Socket>& listeners_;
    const CheckedStep& step_;
    std::uint32_t world_size_;
    Proof proof_;
    std::uint32_t ignored_ = 0;
    std::vector<Peer> peers_;
    std::map<std::uint32_t, Report> reports_;
    std::map<std::uint32_t, NodeLink> links_;
};

// A connection with rank 0, and what it asks for.
struct Invitation {
    Socket socket;
    Proof proof;
    std::string challenge;
};

// Nothing: not rank 0 of this step.
std::optional<Invitation> read_greeting(Socket socket, std::string_view line,
                                        const CheckedStep& step) {
    const std::string beginning = greeting(step);
    if (line.substr(0, beginning.size()) != beginning) return std::nullopt;
    line.remove_prefix(beginning.size());
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    const auto proof = proof_named(line.substr(0, space));
    // Of fixed length, so that no challenge holds the beginning of another's report.
    const auto challenge = Secret::parse(line.substr(space + 1));
    if (!proof || !challenge) return std::nullopt;
    return Invitation{std::move(socket), *proof, challenge->to_string()};
}

Result<Invitation> reach(const Endpoint& endpoint, const CheckedStep& step, Deadline deadline) {
    // Each in its turn: the first may not answer at all.
    const Deadline soon = std::min(deadline, Clock::now() + 3s);
    auto socket = connect_to(endpoint.host, endpoint.port, soon);
    if (!socket) return socket.error();
    const auto said = receive_line(*socket, longest_line, soon);
    if (said) {
        if (auto invitation = read_greeting(*std::move(socket), *said, step)) {
            return *std::move(invitation);
        }
    }
    return Error{host_and_port(endpoint.host, endpoint.port),
                 said ? "another program answers there" : "rank 0 does not answer there",
                 "give another port with the key port=N"};
}

// Error: rank 0 did not take it.
Result<NodeLink> hand_over(const Endpoint& endpoint, Invitation rank0, Report report,
                           const CheckedStep& step, Deadline deadline) {
    report.clock = clock_now();
    const auto line = prove(rank0.proof, step.secret, rank0.challenge, encode_report(report));
    const std::string where = host_and_port(endpoint.host, endpoint.port);
    if (!line) return Error{where, line.error().problem, line.error().remedy};
    if (send_all(rank0.socket, *line + "\n", deadline)) {
        const auto answer = receive_line(rank0.socket, taken.size(), deadline);
        if (answer && *answer + "\n" == taken) {
            return NodeLink(std::move(rank0.socket), rank0.proof, step.secret,
                            std::move(rank0.challenge));
        }
    }
    return Error{where, "the connection broke", "run it again"};
}

Result<NodeLink> tell(const Endpoint& endpoint, const Report& report, const CheckedStep& step,
                      Deadline deadline) {
    return reach(endpoint, step, deadline).and_then([&](Invitation rank0) {
        return hand_over(endpoint, std::move(rank0), report, step, deadline);
    });
}

}  // namespace

Gathered gather(const std::vector<Socket>& listeners, const CheckedStep& step,
                std::uint32_t world_size, Deadline deadline) {
    return Gathering(listeners, step, world_size).run(deadline);
}

Findings findings_of(const Gathered& gathered, const std::string& rendezvous) {
    Findings findings;
    if (gathered.proof == Proof::none && !gathered.reports.empty()) {
        findings.push_back({Finding::Weight::warning,
                            {"reports",
                             "not proven to come from this step, because the plugin did not "
                             "prepare it and MUNGE does not answer",
                             "start it with srun --distgpu=MODE"},
                            "reports"});
    }
    if (gathered.ignored > 0) {
        findings.push_back({Finding::Weight::warning,
                            {"reports",
                             formatted("ignored {} to rank 0 that did not come from this step",
                                       counted(gathered.ignored, "connection")),
                             formatted("find out which other program connects to {}", rendezvous)},
                            "reports"});
    }
    return findings;
}

Result<NodeLink> deliver(Report report, const std::vector<Endpoint>& endpoints,
                         const CheckedStep& step, Deadline deadline) {
    const Endpoint& first = endpoints.front();
    std::optional<Error> first_problem;
    for (;;) {
        auto told = tell(first, report, step, deadline);
        if (told) return told;
        // What an attempt says whose time ran out, an earlier one may know better.
        if (Clock::now() < deadline || !first_problem) first_problem = told.error();
        for (std::size_t i = 1; i < endpoints.size(); ++i) {
            auto other = reach(endpoints[i], step, deadline);
            if (!other) continue;
            // Rank 0 may have begun since: only now is the first endpoint's failure its own.
            told = tell(first, report, step, deadline);
            if (told) return told;
            report.unreached = told.error();
            auto handed = hand_over(endpoints[i], *std::move(other), report, step, deadline);
            if (handed) return handed;
            break;
        }
        if (Clock::now() >= deadline) return *first_problem;
        std::this_thread::sleep_for(100ms);
    }
}

}  // namespace distgpu
