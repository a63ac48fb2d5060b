#include "base/io/name_lookup.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <netdb.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace distgpu {
namespace {

// What the child sends through a pipe in one piece.
struct Answer {
    int problem = EAI_AGAIN;  // as getaddrinfo() returned it
    std::size_t count = 0;
    std::array<Address, 16> addresses{};
};
static_assert(std::is_trivially_copyable_v<Answer> && sizeof(Answer) <= PIPE_BUF);

Answer ask(const std::string& host, int flags) {
    const HostAddresses found = addresses_of(host, 0, flags);
    Answer answer{found.problem};
    answer.count = std::min(found.addresses.size(), answer.addresses.size());
    std::copy_n(found.addresses.begin(), answer.count, answer.addresses.begin());
    return answer;
}

// It keeps the ids of this process: it has a copy of slurmstepd's memory, which the user could
// read if root were given up. A lock that another thread held when it was forked keeps it from
// answering, as a silent name service does.
pid_t ask_in_child(const std::string& host, int result) {
    const pid_t child = fork();
    if (child != 0) return child;
    const Answer answer = ask(host, 0);
    const ssize_t written = write(result, &answer, sizeof answer);
    _exit(written == static_cast<ssize_t>(sizeof answer) ? 0 : 1);
}

std::optional<Answer> receive(int from, Deadline deadline) {
    std::array stream{pollfd{from, POLLIN, 0}};
    for (;;) {
        const int ready = poll_until(stream, deadline);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return std::nullopt;
        Answer answer;
        const ssize_t size = read(from, &answer, sizeof answer);
        if (size < 0 && errno == EINTR) continue;
        return size == static_cast<ssize_t>(sizeof answer) ? std::optional(answer) : std::nullopt;
    }
}

void end(pid_t child) {
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

NameLookup::Outcome outcome_of(int problem) {
    using Outcome = NameLookup::Outcome;
    if (problem == 0) return Outcome::found;
    const bool is_unknown =
        problem == EAI_NONAME || problem == EAI_NODATA || problem == EAI_ADDRFAMILY;
    return is_unknown ? Outcome::unknown : Outcome::unanswered;
}

NameLookup lookup_of(const Answer& answer) {
    const auto* const begin = answer.addresses.begin();
    return {outcome_of(answer.problem), {begin, begin + answer.count}};
}

}  // namespace

NameLookup look_up_name(const std::string& host, Deadline deadline) {
    if (host.empty()) return {NameLookup::Outcome::unknown, {}};
    if (const Answer number = ask(host, AI_NUMERICHOST); number.problem == 0) {
        return lookup_of(number);
    }
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
    const pid_t child = ask_in_child(host, ends[1]);
    close(ends[1]);
    const auto answer = child > 0 ? receive(ends[0], deadline) : std::nullopt;
    close(ends[0]);
    if (child > 0) end(child);
    return answer ? lookup_of(*answer) : NameLookup{};
}

}  // namespace distgpu
