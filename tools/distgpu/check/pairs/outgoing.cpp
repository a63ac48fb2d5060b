#include "check/pairs/outgoing.h"

#include "base/io/resolve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace distgpu {
namespace {

void set(const Socket& socket, int level, int option, int value) {
    setsockopt(socket.fd(), level, option, &value, sizeof value);
}

int connect_error(const Socket& socket) {
    int problem = 0;
    socklen_t length = sizeof problem;
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
    return problem;
}

}  // namespace

Outgoing::Outgoing(const TrialPartner& partner, std::string greeting)
    : node_(partner.node), greeting_(std::move(greeting)) {
    const auto addresses =
        resolve(partner.address.host, partner.address.port, Clock::now() + std::chrono::seconds(1));
    if (!addresses || addresses->empty()) {
        problem_ = "no address";
        return;
    }
    const Address& address = addresses->front();
    constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    socket_ = Socket(socket(address.generic()->sa_family, kind, 0));
    if (connect(socket_.fd(), address.generic(), address.length) != 0 && errno != EINPROGRESS) {
        problem_ = std::strerror(errno);
    }
}

void Outgoing::serve(short events) {
    if (!connected_) {
        begin();
        return;
    }
    if ((events & ~POLLOUT) != 0) hear_answer();
    if ((events & POLLOUT) != 0 && sends(Clock::now())) {
        static constexpr std::array<char, std::size_t{64} << 10U> zeros{};
        static_cast<void>(send(socket_.fd(), zeros.data(), zeros.size(), MSG_NOSIGNAL));
    }
}

void Outgoing::give_up() {
    if (!settled()) problem_ = "no answer within 2 s";
}

void Outgoing::begin() {
    if (const int problem = connect_error(socket_); problem != 0) {
        problem_ = std::strerror(problem);
        return;
    }
    connected_ = true;
    // So that little waits in this node when a round ends.
    constexpr int unsent = 128 << 10;
    set(socket_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent);
    set(socket_, IPPROTO_TCP, TCP_NODELAY, 1);
    write(greeting_);
    ask();
}

void Outgoing::ask() {
    asked_ = Clock::now();
    write("?");
}

void Outgoing::hear_answer() {
    char answer = 0;
    const ssize_t got = recv(socket_.fd(), &answer, sizeof answer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        if (settled()) {
            socket_ = Socket();  // it was measured before
        } else {
            problem_ = "closed by the other end";
        }
        return;
    }
    const double took = std::chrono::duration<double>(Clock::now() - asked_).count();
    round_trip_ = answers_ == 0 ? took : std::min(round_trip_, took);
    if (++answers_ < round_trips) ask();
}

// What is so short fits the buffer of a connection with nothing else in it.
void Outgoing::write(std::string_view text) {
    if (send(socket_.fd(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
        problem_ = std::strerror(errno);
    }
}

}  // namespace distgpu
