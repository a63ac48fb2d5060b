// A node's part in the trial of the network: it connects to its partners, measures how long an
// answer takes, and in each round sends to one as much as goes while it takes what another sends.
// Beside each connection datagrams go both ways: if no connection comes about, they tell in which
// direction packets arrive. One thread waits for all its sockets at once.
#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "check/pairs/trial.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

// SYNs are sent again after one second (Linux): one that is lost is no finding.
constexpr auto longest_connect = 2s;
constexpr auto first_pause = 100ms;  // between datagrams; each next is twice as long
constexpr auto after_round = 50ms;
constexpr std::size_t most_incoming = 256;  // far more than partners; strangers may connect too
// How often a round trip is measured, by a byte and its answer, before anything else is sent.
constexpr std::uint32_t round_trips = 5;
// Of a line by which a partner knows a node: the order's key and the node's index.
constexpr std::size_t longest_greeting = 128;

std::optional<Address> resolved(const TrialAddress& address) {
    const auto found = resolve(address.host, address.port, Clock::now() + 1s);
    if (!found || found->empty()) return std::nullopt;
    return found->front();
}

double seconds_of(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

bool is_only_late() {
    return errno == EAGAIN || errno == EINTR;
}

// The partner that a greeting "KEY NODE" names; nothing: it is no partner's.
std::optional<std::uint32_t> partner_in(const TrialOrder& order, std::string_view greeting) {
    if (!greeting.starts_with(order.key + " ")) return std::nullopt;
    const auto node = whole_number(greeting.substr(order.key.size() + 1));
    for (const auto* partners : {&order.from, &order.to}) {
        for (const TrialPartner& partner : *partners) {
            if (partner.node == node) return node;
        }
    }
    return std::nullopt;
}

// A connection to a partner: what this node sends.
class Outgoing {
  public:
    // Begins to connect. `greeting`: a line by which the partner knows this node.
    Outgoing(const TrialPartner& partner, std::string greeting)
        : node_(partner.node), greeting_(std::move(greeting)) {
        const auto address = resolved(partner.address);
        if (!address) {
            problem_ = "no address";
            return;
        }
        constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
        socket_ = Socket(socket(address->generic()->sa_family, kind, 0));
        if (connect(fd(), address->generic(), address->length) != 0 && errno != EINPROGRESS) {
            problem_ = std::strerror(errno);
        }
    }

    int fd() const { return problem_.empty() ? socket_.fd() : -1; }  // -1: nothing to wait for
    bool wants_to_write(Clock::time_point now) const { return !connected_ || sends(now); }

    // Takes what poll() said of it.
    void serve(short events) {
        if (!connected_) return begin();
        if ((events & ~POLLOUT) != 0) hear_answer();
        if ((events & POLLOUT) != 0 && sends(Clock::now())) {
            static constexpr std::array<char, std::size_t{64} << 10U> zeros{};
            static_cast<void>(send(socket_.fd(), zeros.data(), zeros.size(), MSG_NOSIGNAL));
        }
    }

    // Sends zeros as fast as they go.
    void stream_until(Clock::time_point end) { end_ = end; }

    // It was tried for long enough.
    void give_up() {
        if (!settled()) problem_ = "no answer within 2 s";
    }

    // All round trips are measured, or there is no connection.
    bool settled() const { return !problem_.empty() || answers_ == round_trips; }

    SentTo result() const { return {node_, problem_, round_trip_}; }

  private:
    bool sends(Clock::time_point now) const { return end_ > now && problem_.empty(); }

    void begin() {
        int problem = 0;
        socklen_t length = sizeof problem;
        getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
        if (problem != 0) {
            problem_ = std::strerror(problem);
            return;
        }
        connected_ = true;
        // So that little waits in this node when a round ends.
        constexpr int most_unsent = 128 << 10;
        constexpr int on = 1;
        setsockopt(fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof most_unsent);
        setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        write(greeting_);
        ask();
    }

    void ask() {
        asked_ = Clock::now();
        write("?");
    }

    void hear_answer() {
        char answer = 0;
        const ssize_t got = recv(socket_.fd(), &answer, sizeof answer, 0);
        if (got < 0 && is_only_late()) return;
        if (got <= 0) {
            if (settled()) {
                socket_ = Socket();  // it was measured before
            } else {
                problem_ = "closed by the other end";
            }
            return;
        }
        const double took = seconds_of(Clock::now() - asked_);
        round_trip_ = answers_ == 0 ? took : std::min(round_trip_, took);
        if (++answers_ < round_trips) ask();
    }

    // What is so short fits the buffer of a connection with nothing else in it.
    void write(std::string_view text) {
        if (send(socket_.fd(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
            problem_ = std::strerror(errno);
        }
    }

    std::uint32_t node_;
    std::string greeting_;
    Socket socket_;
    bool connected_ = false;
    std::string problem_;
    std::uint32_t answers_ = 0;
    Clock::time_point asked_;
    double round_trip_ = 0;  // seconds
    Clock::time_point end_;  // of the stream; the epoch: there is none yet
};

// A connection from a partner: what this node takes.
class Incoming {
  public:
    // `stream`: how long the partner will send.
    Incoming(Socket socket, Clock::duration stream) : socket_(std::move(socket)), stream_(stream) {}

    int fd() const { return socket_.fd(); }  // -1: closed

    // Takes what has arrived, and answers as long as round trips are measured.
    void serve(const TrialOrder& order) {
        std::array<char, std::size_t{256} << 10U> buffer;  // NOLINT(*-member-init): recv() fills it
        const ssize_t got = recv(socket_.fd(), buffer.data(), buffer.size(), 0);
        if (got < 0 && is_only_late()) return;
        if (got <= 0) {
            socket_ = Socket();
            return;
        }
        std::string_view text(buffer.data(), static_cast<std::size_t>(got));
        if (!node_ && !read_greeting(text, order)) return;
        while (!text.empty() && answered_ < round_trips) {
            send(socket_.fd(), "!", 1, MSG_NOSIGNAL);
            ++answered_;
            text.remove_prefix(1);
        }
        if (text.empty()) return;
        const auto now = Clock::now();
        if (!first_) first_ = now;
        const auto since = now - *first_;
        if (since >= uncounted() && since <= stream_) counted_ += text.size();
    }

    // Nothing: no partner, or it did not get so far.
    std::optional<HeardFrom> result() const {
        if (!node_ || answered_ < round_trips) return std::nullopt;
        return HeardFrom{*node_, static_cast<double>(counted_) / seconds_of(stream_ - uncounted())};
    }

  private:
    // Leaves in `text` what follows the greeting. False: it is not complete, or not a partner's.
    bool read_greeting(std::string_view& text, const TrialOrder& order) {
        const std::size_t end = text.find('\n');
        greeting_ += text.substr(0, std::min(end, longest_greeting));
        if (end == std::string_view::npos) {
            if (greeting_.size() > longest_greeting) socket_ = Socket();
            return false;
        }
        text.remove_prefix(end + 1);
        node_ = partner_in(order, greeting_);
        if (!node_) socket_ = Socket();
        return node_.has_value();
    }

    // The beginning does not count: a switch's buffers take it faster than the network goes.
    Clock::duration uncounted() const { return stream_ * 2 / 5; }

    Socket socket_;
    Clock::duration stream_;
    std::string greeting_;
    std::optional<std::uint32_t> node_;
    std::uint32_t answered_ = 0;
    std::optional<Clock::time_point> first_;  // of the stream
    std::uint64_t counted_ = 0;               // bytes
};

class NodeTrial {
  public:
    NodeTrial(const TrialPorts& ports, TrialOrder order, NodeLink& rank0, Deadline deadline)
        : ports_(ports),
          order_(std::move(order)),
          rank0_(rank0),
          deadline_(deadline),
          stream_(std::chrono::milliseconds(order_.stream)) {
        for (const TrialPartner& partner : order_.to) {
            outgoing_.emplace_back(partner, formatted("{} {}\n", order_.key, order_.node));
        }
        for (const auto* partners : {&order_.to, &order_.from}) {
            for (const TrialPartner& partner : *partners) {
                if (const auto address = resolved(partner.address)) others_.push_back(*address);
            }
        }
    }

    // Until rank 0 orders another trial or says something else, the line of which is returned.
    std::optional<std::string> run() {
        while (rank0_.is_open() && Clock::now() < deadline_) {
            turn();
            if (auto line = rank0_.next_line()) {
                if (*line != trial_words::start) return line;
                started_ = Clock::now();
            }
            tell_progress();
        }
        return std::nullopt;
    }

  private:
    // Until something happens on a socket, or it is time for something.
    void turn() {
        // Who connects after the result has heard of another trial before this node did.
        const bool accepts = incoming_.size() < most_incoming && !told_result_;
        std::vector<pollfd> waiting{{rank0_.fd(), POLLIN, 0},
                                    {accepts ? ports_.listener.fd() : -1, POLLIN, 0},
                                    {ports_.datagrams.fd(), POLLIN, 0}};
        const auto now = Clock::now();
        for (const Outgoing& out : outgoing_) {
            const short writes = out.wants_to_write(now) ? POLLOUT : 0;
            waiting.push_back({out.fd(), static_cast<short>(POLLIN | writes), 0});
        }
        for (const Incoming& in : incoming_) waiting.push_back({in.fd(), POLLIN, 0});
        if (poll_until(waiting, next_time()) > 0) serve(waiting);
        keep_time();
    }

    // When something has to be done though nothing happens.
    Clock::time_point next_time() const {
        Clock::time_point next = deadline_;
        if (Clock::now() < give_up_) next = std::min(next, std::min(next_datagram_, give_up_));
        if (has_started() && !told_result_) next = std::min(next, begin_of(next_round_));
        return next;
    }

    bool has_started() const { return started_ != Clock::time_point{}; }

    // Of that after the last: when all is measured.
    Clock::time_point begin_of(std::size_t round) const {
        return started_ + round * (stream_ + after_round);
    }

    void serve(const std::vector<pollfd>& waiting) {
        auto entry = waiting.begin();
        if ((entry++)->revents != 0) rank0_.take_arrived();
        const bool knocks = (entry++)->revents != 0;
        if ((entry++)->revents != 0) hear_datagrams();
        for (Outgoing& out : outgoing_) {
            const short events = (entry++)->revents;
            if (events != 0) out.serve(events);
        }
        for (Incoming& in : incoming_) {
            if ((entry++)->revents != 0) in.serve(order_);
        }
        if (knocks) {
            if (auto socket = accept_from(ports_.listener)) {
                incoming_.emplace_back(*std::move(socket), stream_);
            }
        }
        std::erase_if(incoming_, [](const Incoming& in) { return in.fd() < 0 && !in.result(); });
    }

    void keep_time() {
        const auto now = Clock::now();
        if (now >= next_datagram_ && now < give_up_) send_datagrams();
        if (now >= give_up_) {
            for (Outgoing& out : outgoing_) out.give_up();
        }
        if (!has_started() || next_round_ >= outgoing_.size() || now < begin_of(next_round_)) {
            return;
        }
        outgoing_[next_round_++].stream_until(now + stream_);
    }

    void send_datagrams() {
        next_datagram_ = Clock::now() + until_datagram_;
        until_datagram_ *= 2;
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
        if (const auto node = partner_in(order_, {text.data(), static_cast<std::size_t>(got)})) {
            datagrams_.insert(*node);
        }
    }

    void tell_progress() {
        const bool settled = std::all_of(outgoing_.begin(), outgoing_.end(),
                                         [](const Outgoing& out) { return out.settled(); });
        if (settled && !told_connected_) {
            told_connected_ = true;
            rank0_.send(trial_words::connected, deadline_);
        }
        // What is on its way when the last round ends does not count any more.
        if (!has_started() || told_result_ || Clock::now() < begin_of(outgoing_.size())) return;
        told_result_ = true;
        TrialResult result{order_.node, {}, {}, {datagrams_.begin(), datagrams_.end()}};
        for (const Outgoing& out : outgoing_) result.sent.push_back(out.result());
        for (const Incoming& in : incoming_) {
            if (const auto heard = in.result()) result.heard.push_back(*heard);
        }
        rank0_.send(std::string(trial_words::result) + encode(result), deadline_);
    }

    const TrialPorts& ports_;
    TrialOrder order_;
    NodeLink& rank0_;
    Deadline deadline_;
    Clock::duration stream_;
    Deadline give_up_ = Clock::now() + longest_connect;
    Clock::time_point next_datagram_;
    Clock::duration until_datagram_ = first_pause;
    Clock::time_point started_;  // the epoch: not yet
    std::size_t next_round_ = 0;
    bool told_connected_ = false;
    bool told_result_ = false;
    std::vector<Address> others_;
    std::vector<Outgoing> outgoing_;
    std::vector<Incoming> incoming_;
    std::set<std::uint32_t> datagrams_;
};

}  // namespace

std::optional<TrialPorts> open_trial_ports(const std::string& host) {
    // The UDP port of that number may be another program's.
    constexpr int most = 8;
    for (int attempt = 0; attempt < most; ++attempt) {
        auto listener = listen_on(0);
        if (!listener) return std::nullopt;
        const TrialAddress address{host, port_of(*listener)};
        const auto own = resolved(address);
        if (!own) continue;
        constexpr int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
        Socket datagrams(socket(own->bytes.ss_family, kind, 0));
        if (bind(datagrams.fd(), own->generic(), own->length) == 0) {
            return TrialPorts{*std::move(listener), std::move(datagrams), address};
        }
    }
    return std::nullopt;
}

std::optional<std::string> take_part(std::optional<TrialPorts> ports, NodeLink& rank0,
                                     Deadline deadline) {
    auto line = rank0.wait_for_line(deadline);
    while (line && line->starts_with(trial_words::order)) {
        auto order = decode_order(std::string_view(*line).substr(trial_words::order.size()));
        if (!ports || !order) return std::nullopt;
        line = NodeTrial(*ports, *std::move(order), rank0, deadline).run();
    }
    return line;
}

}  // namespace distgpu
