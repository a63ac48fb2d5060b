// See gather.h. Rank 0 says "distgpu check NAME", the other sends its report, rank 0 says "taken";
// one line each.
#include "check/gather.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
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

std::string greeting(const std::string& name) {
    return formatted("distgpu check {}", name);
}

// Who is about to report.
struct Peer {
    Socket socket;
    std::string received;
};

// Rank 0's side. Nobody's silence keeps it from the others.
class Gathering {
  public:
    Gathering(const std::vector<Socket>& listeners, const std::string& name,
              std::uint32_t world_size)
        : listeners_(listeners), greeting_(greeting(name) + "\n"), world_size_(world_size) {}

    std::vector<Report> run(Deadline deadline) {
        while (reports_.size() + 1 < world_size_ && Clock::now() < deadline) turn(deadline);
        std::vector<Report> reports;
        reports.reserve(reports_.size());
        for (auto& [rank, report] : reports_) reports.push_back(std::move(report));
        return reports;
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

    void greet_next(const Socket& listener) {
        auto socket = accept_from(listener);
        // A new connection's buffer takes a line at once.
        if (socket && send_all(*socket, greeting_, Clock::now())) {
            peers_.push_back({*std::move(socket), {}});
        }
    }

    void hear(Peer& peer) {
        std::array<char, 4096> piece{};
        const ssize_t got = recv(peer.socket.fd(), piece.data(), piece.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got > 0) peer.received.append(piece.data(), static_cast<std::size_t>(got));
        const std::size_t end = peer.received.find('\n');
        if (end != std::string::npos) take(peer, end);
        if (got <= 0 || end != std::string::npos || peer.received.size() > longest_report) {
            peer.socket = Socket();
        }
    }

    void take(const Peer& peer, std::size_t end) {
        auto report = decode_report(std::string_view(peer.received).substr(0, end));
        if (!report || report->rank == 0 || report->rank >= world_size_) return;
        if (!send_all(peer.socket, taken, Clock::now())) return;
        const std::uint32_t rank = report->rank;
        reports_.emplace(rank, *std::move(report));
    }

    const std::vector<Socket>& listeners_;
    std::string greeting_;
    std::uint32_t world_size_;
    std::vector<Peer> peers_;
    std::map<std::uint32_t, Report> reports_;
};

// A connection with rank 0 itself.
Result<Socket> reach(const Endpoint& endpoint, const std::string& name, Deadline deadline) {
    // Each in its turn: the first may not answer at all.
    const Deadline soon = std::min(deadline, Clock::now() + 3s);
    auto socket = connect_to(endpoint.host, endpoint.port, soon);
    if (!socket) return socket;
    const auto said = receive_line(*socket, longest_report, soon);
    if (said && *said == greeting(name)) return socket;
    return Error{host_and_port(endpoint.host, endpoint.port),
                 said ? "another program answers there" : "rank 0 does not answer there",
                 "give another port with the key port=N"};
}

bool hand_over(const Socket& socket, const Report& report, Deadline deadline) {
    if (!send_all(socket, encode_report(report) + "\n", deadline)) return false;
    const auto answer = receive_line(socket, taken.size(), deadline);
    return answer && *answer + "\n" == taken;
}

std::optional<Error> tell(const Endpoint& endpoint, const Report& report, const std::string& name,
                          Deadline deadline) {
    const auto socket = reach(endpoint, name, deadline);
    if (socket && hand_over(*socket, report, deadline)) return std::nullopt;
    if (!socket) return socket.error();
    return Error{host_and_port(endpoint.host, endpoint.port), "the connection broke",
                 "run it again"};
}

// The others but the first, once.
std::optional<Socket> reach_past(const std::vector<Endpoint>& endpoints, const std::string& name,
                                 Deadline deadline) {
    for (std::size_t i = 1; i < endpoints.size(); ++i) {
        if (auto socket = reach(endpoints[i], name, deadline)) return *std::move(socket);
    }
    return std::nullopt;
}

}  // namespace

std::vector<Report> gather(const std::vector<Socket>& listeners, const std::string& name,
                           std::uint32_t world_size, Deadline deadline) {
    return Gathering(listeners, name, world_size).run(deadline);
}

std::optional<Error> deliver(Report report, const std::vector<Endpoint>& endpoints,
                             const std::string& name, Deadline deadline) {
    std::optional<Error> first_problem;
    for (;;) {
        auto problem = tell(endpoints.front(), report, name, deadline);
        if (!problem) return std::nullopt;
        // What an attempt says whose time ran out, an earlier one may know better.
        if (Clock::now() < deadline || !first_problem) first_problem = problem;
        if (const auto other = reach_past(endpoints, name, deadline)) {
            // Rank 0 may have begun since: only now is the first endpoint's failure its own.
            problem = tell(endpoints.front(), report, name, deadline);
            if (!problem) return std::nullopt;
            report.unreached = *problem;
            if (hand_over(*other, report, deadline)) return std::nullopt;
        }
        if (Clock::now() >= deadline) return first_problem;
        std::this_thread::sleep_for(100ms);
    }
}

}  // namespace distgpu
