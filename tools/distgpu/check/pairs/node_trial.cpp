// See node_trial.h. One thread waits for all its sockets at once.
#include "check/pairs/node_trial.h"

#include "base/format.h"
#include "base/io/tcp/resolve.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

// SYNs are sent again after one second (Linux): one that is lost is no finding.
constexpr auto longest_connect = 2s;
constexpr auto between_datagrams = 100ms;
constexpr auto after_round = 50ms;
constexpr std::uint32_t round_trips = 5;
constexpr std::size_t longest_greeting = 128;
constexpr std::size_t most_incoming = 256;  // far more than partners; strangers may connect too

double in_seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

bool set(const Socket& socket, int level, int option, int value) {
    return setsockopt(socket.fd(), level, option, &value, sizeof value) == 0;
}

std::optional<Address> resolved(const TrialAddress& address) {
    const auto found = resolve(address.host, address.port, Clock::now() + 1s);
    if (!found || found->empty()) return std::nullopt;
    return found->front();
}

// A connection to a partner.
struct Outgoing {
    std::uint32_t node = 0;
    Socket socket;
    bool connected = false;
    std::string problem;
    std::uint32_t answers = 0;  // of round_trips
    Clock::time_point asked;
    double round_trip = 0;
    Clock::time_point last;  // when it stops to send; the epoch: it does not send yet

    bool settled() const { return !problem.empty() || answers == round_trips; }
    bool sends(Clock::time_point now) const { return last > now && problem.empty(); }
};

// A connection from one.
struct Incoming {
    Socket socket;
    std::string greeting;
    std::optional<std::uint32_t> node;
    std::uint32_t answered = 0;  // of round_trips
    Clock::time_point first;     // when the stream began
    std::uint64_t counted = 0;   // bytes that arrived in the part of it that counts
    bool begun = false;
};

class NodeTrial {
  public:
    NodeTrial(TrialPorts ports, TrialOrder order, NodeLink& rank0, Deadline deadline)
        : ports_(std::move(ports)),
          order_(std::move(order)),
          rank0_(rank0),
          deadline_(deadline),
          stream_(std::chrono::milliseconds(order_.stream)) {}

    std::optional<std::string> run() {
        connect_all();
        while (rank0_.is_open() && Clock::now() < deadline_) {
            turn();
            if (auto line = rank0_.next_line()) {
                if (line->starts_with(trial_words::verdict)) return line;
                if (*line == trial_words::start) start();
            }
            tell_progress();
        }
        return std::nullopt;
    }

  private:
    void connect_all() {
        give_up_ = Clock::now() + longest_connect;
        for (const TrialPartner& partner : order_.to) {
            Outgoing out;
            out.node = partner.node;
            const auto address = resolved(partner.address);
            constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
            if (address) out.socket = Socket(socket(address->bytes.ss_family, kind, 0));
            if (!address || !out.socket.is_open()) {
                out.problem = "no socket";
            } else if (connect(out.socket.fd(), address->generic(), address->length) != 0 &&
                       errno != EINPROGRESS) {
                out.problem = std::strerror(errno);
            }
            outgoing_.push_back(std::move(out));
        }
        for (const auto* partners : {&order_.to, &order_.from}) {
            for (const TrialPartner& partner : *partners) {
                if (const auto address = resolved(partner.address)) others_.push_back(*address);
            }
        }
    }

    // Until something happens on a socket, or it is time for something.
    void turn() {
        std::vector<pollfd> waiting{
            {rank0_.fd(), POLLIN, 0},
            {incoming_.size() < most_incoming ? ports_.listener.fd() : -1, POLLIN, 0},
            {ports_.datagrams.fd(), POLLIN, 0}};
        const auto now = Clock::now();
        for (const Outgoing& out : outgoing_) {
            const bool writes = !out.connected || out.sends(now);
            const auto events = static_cast<short>(POLLIN | (writes ? POLLOUT : 0));
            waiting.push_back({out.problem.empty() ? out.socket.fd() : -1, events, 0});
        }
        for (const Incoming& in : incoming_) waiting.push_back({in.socket.fd(), POLLIN, 0});
        constexpr int moment = 10;  // milliseconds
        if (poll(waiting.data(), waiting.size(), moment) > 0) serve(waiting);
        keep_time();
    }

    void serve(const std::vector<pollfd>& waiting) {
        auto entry = waiting.begin();
        if ((entry++)->revents != 0) rank0_.take_arrived();
        const bool knocks = (entry++)->revents != 0;
        if ((entry++)->revents != 0) hear_datagrams();
        for (Outgoing& out : outgoing_) {
            const short events = (entry++)->revents;
            if (events != 0) advance(out, events);
        }
        for (Incoming& in : incoming_) {
            if ((entry++)->revents != 0) take(in);
        }
        if (knocks) {
            if (auto socket = accept_from(ports_.listener)) {
                incoming_.push_back({*std::move(socket), {}, {}, 0, {}, 0, false});
            }
        }
        std::erase_if(incoming_,
                      [](const Incoming& in) { return !in.socket.is_open() && !in.node; });
    }

    void keep_time() {
        const auto now = Clock::now();
        if (now >= next_datagram_ && now < give_up_) send_datagrams();
        for (Outgoing& out : outgoing_) {
            if (now >= give_up_ && !out.settled()) out.problem = "no answer within 2 s";
        }
        if (started_ == Clock::time_point{} || next_round_ >= outgoing_.size()) return;
        if (now < started_ + next_round_ * (stream_ + after_round)) return;
        outgoing_[next_round_++].last = now + stream_;
    }

    void send_datagrams() {
        next_datagram_ = Clock::now() + between_datagrams;
        const std::string text = formatted("{} {}", order_.key, order_.node);
        for (const Address& other : others_) {
            sendto(ports_.datagrams.fd(), text.data(), text.size(), MSG_NOSIGNAL, other.generic(),
                   other.length);
        }
    }

    void hear_datagrams() {
        std::array<char, longest_greeting> text{};
        const ssize_t got = recv(ports_.datagrams.fd(), text.data(), text.size(), 0);
        if (got <= 0) return;
        if (const auto node = named_by({text.data(), static_cast<std::size_t>(got)})) {
            datagrams_.insert(*node);
        }
    }

    // "KEY NODE", of a node that is a partner.
    std::optional<std::uint32_t> named_by(std::string_view text) const {
        if (!text.starts_with(order_.key + " ")) return std::nullopt;
        const auto node = whole_number(text.substr(order_.key.size() + 1));
        const auto is_it = [&](const TrialPartner& partner) { return partner.node == node; };
        const bool known = std::any_of(order_.from.begin(), order_.from.end(), is_it) ||
                           std::any_of(order_.to.begin(), order_.to.end(), is_it);
        return known ? node : std::nullopt;
    }

    static int connect_error(const Socket& socket) {
        int problem = 0;
        socklen_t length = sizeof problem;
        getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
        return problem;
    }

    void advance(Outgoing& out, short events) {
        if (!out.connected) {
            if (const int problem = connect_error(out.socket); problem != 0) {
                out.problem = std::strerror(problem);
                return;
            }
            out.connected = true;
            // So that little waits in this node when a round ends.
            constexpr int unsent = 128 << 10;
            set(out.socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent);
            set(out.socket, IPPROTO_TCP, TCP_NODELAY, 1);
            write(out, formatted("{} {}\n", order_.key, order_.node));
            ask(out);
            return;
        }
        if ((events & ~POLLOUT) != 0) hear_answer(out);
        if ((events & POLLOUT) != 0 && out.sends(Clock::now())) stream(out);
    }

    static void write(Outgoing& out, std::string_view text) {
        // What is so short fits the buffer of a connection with nothing else in it.
        if (send(out.socket.fd(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
            out.problem = std::strerror(errno);
        }
    }

    static void ask(Outgoing& out) {
        out.asked = Clock::now();
        write(out, "?");
    }

    static void hear_answer(Outgoing& out) {
        char answer = 0;
        const ssize_t got = recv(out.socket.fd(), &answer, sizeof answer, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) {
            if (!out.settled()) out.problem = "closed by the other end";
            if (out.settled()) out.socket = Socket();
            return;
        }
        const double took = in_seconds(Clock::now() - out.asked);
        out.round_trip = out.answers == 0 ? took : std::min(out.round_trip, took);
        if (++out.answers < round_trips) ask(out);
    }

    static void stream(Outgoing& out) {
        static constexpr std::array<char, std::size_t{64} << 10U> zeros{};
        static_cast<void>(send(out.socket.fd(), zeros.data(), zeros.size(), MSG_NOSIGNAL));
    }

    void take(Incoming& in) {
        const ssize_t got = recv(in.socket.fd(), buffer_.data(), buffer_.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) {
            in.socket = Socket();
            return;
        }
        std::string_view text(buffer_.data(), static_cast<std::size_t>(got));
        if (!in.node && !read_greeting(in, text)) return;
        while (!text.empty() && in.answered < round_trips) {
            send(in.socket.fd(), "!", 1, MSG_NOSIGNAL);
            ++in.answered;
            text.remove_prefix(1);
        }
        if (!text.empty()) count(in, text.size());
    }

    // Leaves in `text` what follows the greeting. False: it is not complete, or not a partner's.
    bool read_greeting(Incoming& in, std::string_view& text) const {
        const std::size_t end = text.find('\n');
        in.greeting += text.substr(0, std::min(end, longest_greeting));
        if (end == std::string_view::npos) {
            if (in.greeting.size() > longest_greeting) in.socket = Socket();
            return false;
        }
        text.remove_prefix(end + 1);
        in.node = named_by(in.greeting);
        if (!in.node) in.socket = Socket();
        return in.node.has_value();
    }

    // The beginning does not count: a switch's buffers take it faster than the network goes.
    void count(Incoming& in, std::size_t bytes) const {
        const auto now = Clock::now();
        if (!in.begun) in.first = now;
        in.begun = true;
        const auto since = now - in.first;
        if (since >= begin_of_count() && since <= stream_) in.counted += bytes;
    }

    Clock::duration begin_of_count() const { return stream_ * 2 / 5; }

    void start() { started_ = Clock::now(); }

    void tell_progress() {
        const bool settled = std::all_of(outgoing_.begin(), outgoing_.end(),
                                         [](const Outgoing& out) { return out.settled(); });
        if (settled && !told_connected_) {
            told_connected_ = true;
            rank0_.send(trial_words::connected, deadline_);
        }
        if (started_ == Clock::time_point{} || told_result_) return;
        const auto rounds = std::max(order_.to.size(), order_.from.size());
        // What is on its way when the last round ends does not count any more.
        if (Clock::now() < started_ + rounds * (stream_ + after_round)) return;
        told_result_ = true;
        rank0_.send(std::string(trial_words::result) + encode(result()), deadline_);
    }

    TrialResult result() const {
        TrialResult result{order_.node, {}, {}, {datagrams_.begin(), datagrams_.end()}};
        for (const Outgoing& out : outgoing_) {
            result.sent.push_back({out.node, out.problem, out.round_trip});
        }
        const double seconds = in_seconds(stream_ - begin_of_count());
        for (const Incoming& in : incoming_) {
            if (!in.node || in.answered < round_trips) continue;
            result.heard.push_back({*in.node, static_cast<double>(in.counted) / seconds});
        }
        return result;
    }

    TrialPorts ports_;
    TrialOrder order_;
    NodeLink& rank0_;
    Deadline deadline_;
    Clock::duration stream_;
    Deadline give_up_;
    Clock::time_point next_datagram_;
    Clock::time_point started_;  // the epoch: not yet
    std::size_t next_round_ = 0;
    bool told_connected_ = false;
    bool told_result_ = false;
    std::vector<Address> others_;
    std::vector<Outgoing> outgoing_;
    std::vector<Incoming> incoming_;
    std::set<std::uint32_t> datagrams_;
    std::vector<char> buffer_ = std::vector<char>(std::size_t{256} << 10U);
};

Socket datagram_socket(const TrialAddress& address) {
    const auto own = resolved(address);
    if (!own) return {};
    constexpr int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    Socket datagrams(socket(own->bytes.ss_family, kind, 0));
    if (bind(datagrams.fd(), own->generic(), own->length) != 0) return {};
    return datagrams;
}

}  // namespace

std::optional<TrialPorts> open_trial_ports(const std::string& host) {
    // The UDP port of that number may be another program's.
    constexpr int most = 8;
    for (int attempt = 0; attempt < most; ++attempt) {
        auto listener = listen_on(0);
        if (!listener) return std::nullopt;
        const TrialAddress address{host, port_of(*listener)};
        Socket datagrams = datagram_socket(address);
        if (datagrams.is_open()) {
            return TrialPorts{*std::move(listener), std::move(datagrams), address};
        }
    }
    return std::nullopt;
}

std::optional<std::string> take_part(std::optional<TrialPorts> ports, NodeLink& rank0,
                                     Deadline deadline) {
    auto line = rank0.wait_for_line(deadline);
    if (!line || line->starts_with(trial_words::verdict)) return line;
    if (!ports || !line->starts_with(trial_words::order)) return std::nullopt;
    auto order = decode_order(std::string_view(*line).substr(trial_words::order.size()));
    if (!order) return std::nullopt;
    return NodeTrial(*std::move(ports), *std::move(order), rank0, deadline).run();
}

}  // namespace distgpu
