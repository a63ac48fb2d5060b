#include "base/io/resolve.h"

#include "base/format.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Calls getaddrinfo(3), which may block for a long time.
NameLookup get_addresses(const std::string& host, std::uint16_t port, int flags) {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string service = std::to_string(port);
    NameLookup answer{getaddrinfo(host.c_str(), service.c_str(), &hints, &found)};
    if (answer.problem != 0) return answer;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        Address& address = answer.addresses.emplace_back();
        address.length = each->ai_addrlen;
        std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    }
    freeaddrinfo(found);
    return answer;
}

// A child process writes it to a pipe in one piece.
struct Answer {
    int problem;
    std::size_t count;
    std::array<Address, 16> addresses;
};
static_assert(std::is_trivially_copyable_v<Answer> && sizeof(Answer) <= PIPE_BUF);

// The child keeps the user ids of this process: it has a copy of slurmstepd's memory, which the
// user could read if it dropped root. If another thread held a lock at the fork, the child may
// never answer, just like a dead name service.
pid_t start_lookup(const std::string& host, int result) {
    const pid_t child = fork();
    if (child != 0) return child;
    const NameLookup found = get_addresses(host, 0, 0);
    Answer answer{found.problem, 0, {}};
    answer.count = std::min(found.addresses.size(), answer.addresses.size());
    std::copy_n(found.addresses.begin(), answer.count, answer.addresses.begin());
    const ssize_t written = write(result, &answer, sizeof answer);
    _exit(written == static_cast<ssize_t>(sizeof answer) ? 0 : 1);
}

NameLookup read_answer(int pipe, Deadline deadline) {
    std::array stream{pollfd{pipe, POLLIN, 0}};
    for (;;) {
        const int ready = poll_until(stream, deadline);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return {};
        Answer answer;
        const ssize_t size = read(pipe, &answer, sizeof answer);
        if (size < 0 && errno == EINTR) continue;
        if (size != static_cast<ssize_t>(sizeof answer)) return {};
        const auto* const begin = answer.addresses.begin();
        return {answer.problem, {begin, begin + answer.count}};
    }
}

}  // namespace

const sockaddr* Address::as_sockaddr() const {
    // The socket API requires this cast.
    return reinterpret_cast<const sockaddr*>(&bytes);
}

bool Address::is_loopback() const {
    if (bytes.ss_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &bytes, sizeof ipv4);
        return ntohl(ipv4.sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
    }
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &bytes, sizeof ipv6);
    return bytes.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr);
}

std::string Address::to_string() const {
    std::array<char, NI_MAXHOST> text{};
    getnameinfo(as_sockaddr(), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    return text.data();
}

bool NameLookup::is_unknown() const {
    return problem == EAI_NONAME || problem == EAI_NODATA || problem == EAI_ADDRFAMILY;
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                     Deadline deadline) {
    NameLookup found = get_addresses(host, port, AI_NUMERICHOST);
    if (found.problem != 0) {
        auto answer = call_within(deadline, [host, port] { return get_addresses(host, port, 0); });
        if (!answer) {
            return Error{host, "the name service does not answer",
                         "check /etc/resolv.conf on this node"};
        }
        found = *std::move(answer);
    }
    if (found.problem == 0) return std::move(found.addresses);
    return Error{host, formatted("no address: {}", gai_strerror(found.problem)),
                 "check /etc/hosts and the name service of this node"};
}

NameLookup look_up_name(const std::string& host, Deadline deadline) {
    if (host.empty()) return {EAI_NONAME};
    if (NameLookup numeric = get_addresses(host, 0, AI_NUMERICHOST); numeric.problem == 0) {
        return numeric;
    }
    Pipe pipe = make_pipe();
    const pid_t child = pipe.is_open() ? start_lookup(host, pipe.write.fd()) : -1;
    if (child < 0) return {};
    pipe.write = UniqueFd();
    NameLookup answer = read_answer(pipe.read.fd(), deadline);
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return answer;
}

}  // namespace distgpu
