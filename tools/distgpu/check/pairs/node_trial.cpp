// A node's part in the network trial: it connects to its partners, measures round trips, and in
// each round sends to one partner at full speed while it receives from another. Partners also
// exchange datagrams: if a connection fails, these show in which direction packets arrive. One
// thread polls all sockets.
#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "check/pairs/interface.h"
#include "check/pairs/network_trial.h"
#include "check/pairs/stream_limit.h"
#include "node/network.h"

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

// Linux repeats a SYN after one second, so that a lost one is not a finding.
constexpr auto connect_timeout = 2s;
constexpr auto first_pause = 100ms;  // between datagrams; doubles each time
constexpr auto round_gap = 50ms;
constexpr auto look_pause = 5ms;           // between looks at what limits the stream, at most
constexpr std::size_t max_incoming = 256;  // far above the partners; other programs may connect too
// Measured with one byte and its answer, before the stream begins.
constexpr std::uint32_t round_trips = 5;
// Of the line by which a node identifies itself to a partner: the order's key and the node's index,
// and `more` for a connection to another interface of the partner.
constexpr std::size_t max_greeting = 128;
constexpr std::string_view more_mark = " more";

std::optional<Address> resolved(const TrialAddress& address) {
    const auto found = resolve(address.host, address.port, Clock::now() + 1s);
    if (!found || found->empty()) return std::nullopt;
    return found->front();
}

double seconds_of(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

bool would_block() {
    return errno == EAGAIN || errno == EINTR;
}

// The partner that sent the greeting "KEY NODE"; nullopt if a partner did not send it.
std::optional<std::uint32_t> parse_greeting(const TrialOrder& order, std::string_view greeting) {
    if (!greeting.starts_with(order.key + " ")) return std::nullopt;
    const auto node = whole_number(greeting.substr(order.key.size() + 1));
    for (const auto* partners : {&order.from, &order.to}) {
        for (const TrialPartner& partner : *partners) {
            if (partner.node == node) return node;
        }
    }
    return std::nullopt;
}

// A connection to a partner, over which this node sends.
class Outgoing {
  public:
    // Begins to connect. `greeting`: the line by which this node identifies itself.
    Outgoing(std::uint32_t node, const TrialAddress& to, std::string greeting)
        : node_(node), greeting_(std::move(greeting)) {
        const auto address = resolved(to);
        if (!address) {
            problem_ = "no address";
            return;
        }
        constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
        socket_ = Socket(socket(address->as_sockaddr()->sa_family, kind, 0));
        if (connect(fd(), address->as_sockaddr(), address->length) != 0 && errno != EINPROGRESS) {
            problem_ = std::strerror(errno);
        }
    }

    int fd() const { return problem_.empty() ? socket_.fd() : -1; }  // -1 if it failed
    bool needs_pollout(Clock::time_point now) const { return !is_connected_ || is_streaming(now); }

    // `events`: from poll(), perhaps none.
    void handle(short events) {
        const auto now = Clock::now();
        if (limit_) limit_->note(socket_.fd(), (events & POLLOUT) != 0, now);
        if (events == 0) return;
        if (!is_connected_) return finish_connecting();
        if ((events & ~POLLOUT) != 0) read_answer();
        if ((events & POLLOUT) != 0 && is_streaming(now)) {
            static constexpr std::array<char, std::size_t{64} << 10U> zeros{};
            static_cast<void>(send(socket_.fd(), zeros.data(), zeros.size(), MSG_NOSIGNAL));
        }
    }

    // Sends zeros at full speed.
    void stream_until(Clock::time_point end) {
        stream_end_ = end;
        if (fd() >= 0) limit_.emplace(fd(), Clock::now());
    }

    // To be called at the end of the stream.
    void finish_stream(Clock::time_point now) {
        if (limit_ && fd() >= 0) network_share_ = limit_->network_share(fd(), now);
        limit_.reset();
    }

    // To be called connect_timeout after the start.
    void time_out() {
        if (!is_settled()) problem_ = "no answer within 2 s";
    }

    // Whether all round trips are measured, or the connection failed.
    bool is_settled() const { return !problem_.empty() || answers_ == round_trips; }

    SendResult result() const { return {node_, problem_, round_trip_, network_share_}; }

  private:
    bool is_streaming(Clock::time_point now) const { return stream_end_ > now && problem_.empty(); }

    void finish_connecting() {
        int problem = 0;
        socklen_t length = sizeof problem;
        getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
        if (problem != 0) {
            problem_ = std::strerror(problem);
            return;
        }
        is_connected_ = true;
        // So that little is still queued on this node when a round ends.
        constexpr int max_unsent = 128 << 10;
        constexpr int on = 1;
        setsockopt(fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max_unsent, sizeof max_unsent);
        setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        send_text(greeting_);
        send_probe();
    }

    void send_probe() {
        probe_sent_at_ = Clock::now();
        send_text("?");
    }

    void read_answer() {
        char answer = 0;
        const ssize_t got = recv(socket_.fd(), &answer, sizeof answer, 0);
        if (got < 0 && would_block()) return;
        if (got <= 0) {
            if (is_settled()) {
                socket_ = Socket();  // its round trips are measured
            } else {
                problem_ = "closed by the other end";
            }
            return;
        }
        const double duration = seconds_of(Clock::now() - probe_sent_at_);
        round_trip_ = answers_ == 0 ? duration : std::min(round_trip_, duration);
        if (++answers_ < round_trips) send_probe();
    }

    // Precondition: `text` is short enough for the empty send buffer.
    void send_text(std::string_view text) {
        if (send(socket_.fd(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
            problem_ = std::strerror(errno);
        }
    }

    std::uint32_t node_;
    std::string greeting_;
    Socket socket_;
    bool is_connected_ = false;
    std::string problem_;
    std::uint32_t answers_ = 0;
    Clock::time_point probe_sent_at_;
    double round_trip_ = 0;         // seconds
    Clock::time_point stream_end_;  // the epoch if no stream was started
    std::optional<StreamLimit> limit_;
    double network_share_ = 0;
};

// Measures what an interface carries during a round.
class TrafficMeter {
  public:
    TrafficMeter(const std::string& interface, Clock::time_point now)
        : interface_(interface), start_(now), at_start_(interface_traffic(interface)) {}

    RoundTraffic result(Clock::time_point now) const {
        const double duration = seconds_of(now - start_);
        const InterfaceTraffic traffic = interface_traffic(interface_);
        return {static_cast<double>(traffic.sent - at_start_.sent) / duration,
                static_cast<double>(traffic.received - at_start_.received) / duration};
    }

  private:
    const std::string& interface_;
    Clock::time_point start_;
    InterfaceTraffic at_start_;
};

// A connection from a partner, over which this node receives.
class Incoming {
  public:
    // `stream_time`: how long the partner will send.
    Incoming(Socket socket, Clock::duration stream_time)
        : socket_(std::move(socket)), stream_time_(stream_time) {}

    int fd() const { return socket_.fd(); }  // -1 if closed

    // Reads what has arrived, and answers it while round trips are measured.
    void handle(const TrialOrder& order) {
        std::array<char, std::size_t{256} << 10U> buffer;  // NOLINT(*-member-init): recv() fills it
        const ssize_t got = recv(socket_.fd(), buffer.data(), sizeof buffer, 0);
        if (got < 0 && would_block()) return;
        if (got <= 0) {
            socket_ = Socket();
            return;
        }
        std::string_view text(buffer.data(), static_cast<std::size_t>(got));
        if (!node_ && !read_greeting(text, order)) return;
        while (!text.empty() && answers_ < round_trips) {
            send(socket_.fd(), "!", 1, MSG_NOSIGNAL);
            ++answers_;
            text.remove_prefix(1);
        }
        if (text.empty()) return;
        const auto now = Clock::now();
        if (!stream_start_) stream_start_ = now;
        const auto since = now - *stream_start_;
        if (since >= warm_up() && since <= stream_time_) bytes_ += text.size();
    }

    // nullopt if it is not from a partner, or its round trips are not complete.
    std::optional<ReceiveResult> result() const {
        if (!node_ || is_more_ || answers_ < round_trips) return std::nullopt;
        return ReceiveResult{*node_,
                             static_cast<double>(bytes_) / seconds_of(stream_time_ - warm_up())};
    }

  private:
    // Removes the greeting from `text`. False if it is incomplete, or not from a partner.
    bool read_greeting(std::string_view& text, const TrialOrder& order) {
        const std::size_t end = text.find('\n');
        greeting_ += text.substr(0, std::min(end, max_greeting));
        if (end == std::string_view::npos) {
            if (greeting_.size() > max_greeting) socket_ = Socket();
            return false;
        }
        text.remove_prefix(end + 1);
        is_more_ = greeting_.ends_with(more_mark);
        if (is_more_) greeting_.resize(greeting_.size() - more_mark.size());
        node_ = parse_greeting(order, greeting_);
        if (!node_) socket_ = Socket();
        return node_.has_value();
    }

    // The beginning is not counted: a switch's buffers fill faster than the network drains them.
    Clock::duration warm_up() const { return stream_time_ * 2 / 5; }

    Socket socket_;
    Clock::duration stream_time_;
    std::string greeting_;
    std::optional<std::uint32_t> node_;
    bool is_more_ = false;
    std::uint32_t answers_ = 0;
    std::optional<Clock::time_point> stream_start_;
    std::uint64_t bytes_ = 0;  // received after the warm-up
};

class NodeTrial {
  public:
    NodeTrial(const TrialPorts& ports, TrialOrder order, NodeLink& rank0, Deadline deadline)
        : ports_(ports),
          order_(std::move(order)),
          rank0_(rank0),
          deadline_(deadline),
          stream_time_(std::chrono::milliseconds(order_.stream)) {
        const std::string greeting = formatted("{} {}", order_.key, order_.node);
        for (const TrialPartner& partner : order_.to) {
            outgoing_.emplace_back(partner.node, partner.address, greeting + "\n");
        }
        // After those that also stream.
        for (const TrialPartner& partner : order_.to) {
            for (const MoreAddress& more : partner.more) {
                outgoing_.emplace_back(partner.node, more.address,
                                       formatted("{}{}\n", greeting, more_mark));
                more_interfaces_.push_back(more.interface);
            }
        }
        for (const auto* partners : {&order_.to, &order_.from}) {
            for (const TrialPartner& partner : *partners) {
                if (const auto address = resolved(partner.address)) {
                    partner_addresses_.push_back(*address);
                }
            }
        }
    }

    // Returns rank 0's next line other than "start", such as the order of another trial.
    std::optional<std::string> run() {
        while (rank0_.is_open() && Clock::now() < deadline_) {
            wait_and_handle();
            if (auto line = rank0_.next_line()) {
                if (*line != trial_prefix::start) return line;
                started_at_ = Clock::now();
            }
            report_progress();
        }
        return std::nullopt;
    }

  private:
    // Waits for an event on a socket or a timer, and handles it.
    void wait_and_handle() {
        // After the result, a new connection belongs to another trial whose order is not here yet.
        const bool accepts = incoming_.size() < max_incoming && !sent_result_;
        std::vector<pollfd> waiting{{rank0_.fd(), POLLIN, 0},
                                    {accepts ? ports_.listener.fd() : -1, POLLIN, 0},
                                    {ports_.datagrams.fd(), POLLIN, 0}};
        const auto now = Clock::now();
        for (const Outgoing& out : outgoing_) {
            const short pollout = out.needs_pollout(now) ? POLLOUT : 0;
            waiting.push_back({out.fd(), static_cast<short>(POLLIN | pollout), 0});
        }
        for (const Incoming& in : incoming_) waiting.push_back({in.fd(), POLLIN, 0});
        if (poll_until(waiting, next_timer()) >= 0) handle_events(waiting);
        run_timers();
    }

    Clock::time_point next_timer() const {
        Clock::time_point next = deadline_;
        if (Clock::now() < connect_end_) {
            next = std::min(next, std::min(next_datagram_, connect_end_));
        }
        if (has_started() && !sent_result_) next = std::min(next, round_start(next_round_));
        if (meter_) next = std::min({next, round_end_, Clock::now() + look_pause});
        return next;
    }

    bool has_started() const { return started_at_ != Clock::time_point{}; }

    // For the round after the last: the time when everything is measured.
    Clock::time_point round_start(std::size_t round) const {
        return started_at_ + round * (stream_time_ + round_gap);
    }

    void handle_events(const std::vector<pollfd>& waiting) {
        auto entry = waiting.begin();
        if ((entry++)->revents != 0) rank0_.receive_available();
        const bool has_connection = (entry++)->revents != 0;
        if ((entry++)->revents != 0) receive_datagram();
        for (Outgoing& out : outgoing_) {
            out.handle((entry++)->revents);
        }
        for (Incoming& in : incoming_) {
            if ((entry++)->revents != 0) in.handle(order_);
        }
        if (has_connection) {
            if (auto socket = accept_from(ports_.listener)) {
                incoming_.emplace_back(*std::move(socket), stream_time_);
            }
        }
        std::erase_if(incoming_, [](const Incoming& in) { return in.fd() < 0 && !in.result(); });
    }

    void run_timers() {
        const auto now = Clock::now();
        if (now >= next_datagram_ && now < connect_end_) send_datagrams();
        if (now >= connect_end_) {
            for (Outgoing& out : outgoing_) out.time_out();
        }
        if (meter_ && now >= round_end_) {
            traffic_.push_back(meter_->result(now));
            meter_.reset();
            outgoing_[next_round_ - 1].finish_stream(now);
        }
        if (!has_started() || meter_ || next_round_ >= order_.to.size() ||
            now < round_start(next_round_)) {
            return;
        }
        round_end_ = now + stream_time_;
        meter_.emplace(ports_.interface, now);
        outgoing_[next_round_++].stream_until(round_end_);
    }

    void send_datagrams() {
        next_datagram_ = Clock::now() + datagram_pause_;
        datagram_pause_ *= 2;
        const std::string text = formatted("{} {}", order_.key, order_.node);
        for (const Address& address : partner_addresses_) {
            sendto(ports_.datagrams.fd(), text.data(), text.size(), MSG_NOSIGNAL,
                   address.as_sockaddr(), address.length);
        }
    }

    void receive_datagram() {
        std::array<char, max_greeting> text{};
        const ssize_t got = recv(ports_.datagrams.fd(), text.data(), text.size(), 0);
        if (got <= 0) return;
        if (const auto node =
                parse_greeting(order_, {text.data(), static_cast<std::size_t>(got)})) {
            datagram_senders_.insert(*node);
        }
    }

    void report_progress() {
        const bool are_settled = std::all_of(outgoing_.begin(), outgoing_.end(),
                                             [](const Outgoing& out) { return out.is_settled(); });
        if (are_settled && !sent_connected_) {
            sent_connected_ = true;
            rank0_.send(trial_prefix::connected, deadline_);
        }
        // Data that arrives after the last round is not counted.
        if (!has_started() || sent_result_ || Clock::now() < round_start(order_.to.size())) return;
        sent_result_ = true;
        TrialResult result{order_.node,
                           {},
                           {},
                           {datagram_senders_.begin(), datagram_senders_.end()},
                           interface_speed(ports_.interface),
                           traffic_,
                           {}};
        for (const Outgoing& out : outgoing_) {
            SendResult sent = out.result();
            const std::size_t place = result.sent.size() + result.more.size();
            if (place < order_.to.size()) {
                result.sent.push_back(std::move(sent));
            } else {
                result.more.push_back({sent.node, more_interfaces_[place - order_.to.size()],
                                       std::move(sent.problem)});
            }
        }
        for (const Incoming& in : incoming_) {
            if (const auto received = in.result()) result.received.push_back(*received);
        }
        rank0_.send(std::string(trial_prefix::result) + encode(result), deadline_);
    }

    const TrialPorts& ports_;
    TrialOrder order_;
    NodeLink& rank0_;
    Deadline deadline_;
    Clock::duration stream_time_;
    Deadline connect_end_ = Clock::now() + connect_timeout;
    Clock::time_point next_datagram_;
    Clock::duration datagram_pause_ = first_pause;
    Clock::time_point started_at_;  // the epoch if not started
    std::size_t next_round_ = 0;
    std::optional<TrafficMeter> meter_;  // during a round
    Clock::time_point round_end_;
    std::vector<RoundTraffic> traffic_;  // of the rounds that are over
    bool sent_connected_ = false;
    bool sent_result_ = false;
    std::vector<Address> partner_addresses_;
    std::vector<Outgoing> outgoing_;  // one for each of order_.to, then those of `more`
    std::vector<std::string> more_interfaces_;
    std::vector<Incoming> incoming_;
    std::set<std::uint32_t> datagram_senders_;
};

}  // namespace

std::optional<TrialPorts> open_trial_ports(const std::string& host) {
    // Another program may use the UDP port of the same number.
    constexpr int max_attempts = 8;
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
        auto listener = listen_on(0);
        if (!listener) return std::nullopt;
        const TrialAddress address{host, port_of(*listener)};
        const auto own = resolved(address);
        if (!own) continue;
        constexpr int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
        Socket datagrams(socket(own->bytes.ss_family, kind, 0));
        if (bind(datagrams.fd(), own->as_sockaddr(), own->length) == 0) {
            return TrialPorts{*std::move(listener), std::move(datagrams), address,
                              interface_of(host, Clock::now() + 1s).name};
        }
    }
    return std::nullopt;
}

std::optional<std::string> join_trial(std::optional<TrialPorts> ports, NodeLink& rank0,
                                      Deadline deadline) {
    auto line = rank0.wait_for_line(deadline);
    while (line && line->starts_with(trial_prefix::order)) {
        auto order = decode_order(std::string_view(*line).substr(trial_prefix::order.size()));
        if (!ports || !order) return std::nullopt;
        line = NodeTrial(*ports, *std::move(order), rank0, deadline).run();
    }
    return line;
}

}  // namespace distgpu
