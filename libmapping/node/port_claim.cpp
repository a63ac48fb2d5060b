// Two names for each port: that of the step, by which it knows its own claim and
// others can tell whose it is, and that of the port, which one step alone can have.
#include "node/port_claim.h"

#include "base/format.h"
#include "base/io/abstract_socket.h"
#include "base/io/file_text.h"
#include "base/take_until.h"
#include "base/values.h"

#include <cerrno>
#include <chrono>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

std::string port_name(std::uint16_t port) {
    return formatted("distgpu.port.{}.{}", geteuid(), port);
}

enum class Taking { done, taken, impossible };

Taking take_name(const Socket& socket, const std::string& name) {
    const AbstractName address = abstract_name(name);
    if (bind(socket.fd(), address.generic(), address.length) == 0) {
        // Only of a socket that listens is it known whose it is.
        return listen(socket.fd(), SOMAXCONN) == 0 ? Taking::done : Taking::impossible;
    }
    return errno == EADDRINUSE ? Taking::taken : Taking::impossible;
}

Socket new_socket(int flags) {
    return Socket(socket(AF_UNIX, SOCK_STREAM | flags, 0));
}

// Whether a process of this user's has the name, and has not given it up.
bool is_held_by_own_user(const std::string& name) {
    const Socket socket = new_socket(SOCK_CLOEXEC | SOCK_NONBLOCK);
    const AbstractName address = abstract_name(name);
    return connect(socket.fd(), address.generic(), address.length) == 0 && is_own_users(socket);
}

// "JOB.STEP" and nothing else: anybody can give a socket any name.
bool is_step(std::string_view text) {
    const std::string_view job = take_until(text, '.');
    return whole_number(job) && whole_number(text);
}

// From the kernel's list of names. `step` asks.
std::string holder_of(const std::string& name, std::string_view step) {
    const std::string beginning = "@" + name + ".";
    const auto list = read_regular_file("/proc/self/net/unix");
    std::string_view rest = list ? std::string_view(*list) : std::string_view();
    while (!rest.empty()) {
        std::string_view line = take_until(rest, '\n');
        const std::size_t at = line.find(beginning);
        if (at == std::string_view::npos) continue;
        line.remove_prefix(at + beginning.size());
        if (line != step && is_step(line) && is_held_by_own_user(formatted("{}.{}", name, line))) {
            return formatted("step {}", line);
        }
    }
    return "another program of yours";
}

}  // namespace

std::optional<std::string> PortClaims::take(std::uint16_t port, const std::string& step) {
    const int flags = heirs_ == Heirs::none ? SOCK_CLOEXEC : 0;
    const std::string name = port_name(port);
    Socket own = new_socket(flags);
    Socket only = new_socket(flags);
    if (!own.is_open() || !only.is_open()) return std::nullopt;
    // Another component of the step, or a process of it, has the port already.
    if (take_name(own, formatted("{}.{}", name, step)) != Taking::done) return std::nullopt;
    // slurmstepd may be there a little longer than its tasks.
    constexpr std::chrono::milliseconds pause{50};
    constexpr int most = 20;
    Taking taking = Taking::taken;
    for (int tries = 0; tries < most; ++tries) {
        taking = take_name(only, name);
        if (taking != Taking::taken || !is_held_by_own_user(name)) break;
        std::this_thread::sleep_for(pause);
    }
    if (taking == Taking::taken && is_held_by_own_user(name)) return holder_of(name, step);
    sockets_.push_back(std::move(own));
    sockets_.push_back(std::move(only));
    return std::nullopt;
}

void PortClaims::release() {
    // A process that has no more than copies of them ends the claim, too.
    for (const Socket& socket : sockets_) shutdown(socket.fd(), SHUT_RDWR);
    sockets_.clear();
}

}  // namespace distgpu
