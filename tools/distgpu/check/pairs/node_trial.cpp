// One thread waits for all its sockets at once.
#include "check/pairs/node_trial.h"

#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "check/pairs/incoming.h"
#include "check/pairs/outgoing.h"

#include <algorithm>
#include <array>
#include <chrono>
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
constexpr auto first_pause = 100ms;  // between datagrams; each next is twice as long
constexpr auto after_round = 50ms;
constexpr std::size_t most_incoming = 256;  // far more than partners; strangers may connect too

std::optional<Address> resolved(const TrialAddress& address) {
    const auto found = resolve(address.host, address.port, Clock::now() + 1s);
    if (!found || found->empty()) return std::nullopt;
    return found->front();
}

class NodeTrial {
  public:
    NodeTrial(const TrialPorts& ports, TrialOrder order, NodeLink& rank0, Deadline deadline)
        : ports_(ports),
          order_(std::move(order)),
          rank0_(rank0),
          deadline_(deadline),
          stream_(std::chrono::milliseconds(order_.stream)) {}

    // Until rank 0 orders another trial or says something else, the line of which is returned.
    std::optional<std::string> run() {
        connect_all();
        while (rank0_.is_open() && Clock::now() < deadline_) {
            turn();
            if (auto line = rank0_.next_line()) {
                if (*line != trial_words::start) return line;
                start();
            }
            tell_progress();
        }
        return std::nullopt;
    }

  private:
    void connect_all() {
        give_up_ = Clock::now() + longest_connect;
        for (const TrialPartner& partner : order_.to) {
            outgoing_.emplace_back(partner, formatted("{} {}\n", order_.key, order_.node));
        }
        for (const auto* partners : {&order_.to, &order_.from}) {
            for (const TrialPartner& partner : *partners) {
                if (const auto address = resolved(partner.address)) others_.push_back(*address);
            }
        }
    }

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
        const auto named = [this](std::string_view text) { return named_by(text); };
        for (Incoming& in : incoming_) {
            if ((entry++)->revents != 0) in.serve(named);
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

    void start() { started_ = Clock::now(); }

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
        rank0_.send(std::string(trial_words::result) + encode(result()), deadline_);
    }

    TrialResult result() const {
        TrialResult result{order_.node, {}, {}, {datagrams_.begin(), datagrams_.end()}};
        for (const Outgoing& out : outgoing_) result.sent.push_back(out.result());
        for (const Incoming& in : incoming_) {
            if (const auto heard = in.result()) result.heard.push_back(*heard);
        }
        return result;
    }

    const TrialPorts& ports_;
    TrialOrder order_;
    NodeLink& rank0_;
    Deadline deadline_;
    Clock::duration stream_;
    Deadline give_up_;
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
    while (line && line->starts_with(trial_words::order)) {
        auto order = decode_order(std::string_view(*line).substr(trial_words::order.size()));
        if (!ports || !order) return std::nullopt;
        line = NodeTrial(*ports, *std::move(order), rank0, deadline).run();
    }
    return line;
}

}  // namespace distgpu
