// How long nccl-scaling's rank 0 takes to find many ranks and to talk to them, and what it needs.
//
//     bootstrap_times RANKS [ROUNDS]
//
// Rank 0 is the real one. The others are connections of one other process, which says what ranks
// say: each round every rank hands in the times of 20 iterations, and rank 0 answers all.
#include "base/io/open_files.h"
#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/messages.h"
#include "meet/meeting.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace distgpu::scaling {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 120s;

Membership membership(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port) {
    return {rank, ranks, rank % 8, "node" + std::to_string(rank / 8), "127.0.0.1", port, "17.0"};
}

std::string answer() {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "0.00123456789012345,";
    return line_of(Kind::data, text);
}

// All ranks but 0, until rank 0 leaves.
void be_the_others(std::uint32_t ranks, std::uint16_t port) {
    raise_open_files();
    std::vector<Socket> connections;
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        const Deadline deadline = Clock::now() + patience;
        const Meeting meeting{"nccl-scaling", "17.0"};
        auto zero = reach(meeting, "127.0.0.1", port, deadline);
        while (!zero) zero = reach(meeting, "127.0.0.1", port, deadline);
        auto taken = introduce(*std::move(zero), meeting, hello_text(membership(rank, ranks, port)),
                               deadline);
        if (!taken) return;
        connections.push_back(std::move(taken->socket));
    }
    const std::string own = answer();
    std::vector<pollfd> entries;
    for (const Socket& connection : connections) entries.push_back({connection.fd(), POLLIN, 0});
    while (poll(entries.data(), entries.size(), -1) > 0) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (entries[i].revents == 0) continue;
            const Deadline deadline = Clock::now() + patience;
            const auto line = receive_line(connections[i], longest_line, deadline);
            if (!line) return;
            const bool asked = line->front() == static_cast<char>(Kind::ping);
            static_cast<void>(
                send_all(connections[i], asked ? line_of(Kind::progress, "1") : own, deadline));
        }
    }
}

double seconds_since(Deadline begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

int be_rank_0(std::uint32_t ranks, std::uint16_t port, int rounds) {
    const auto end = [](const Ending& ending) {
        std::printf("%s\n", ending.failure.problem.c_str());
        std::exit(1);
    };
    const Deadline begin = Clock::now();
    const auto channel =
        open_channel(membership(0, ranks, port), {patience, names_of_peers({}), end});
    if (!channel) end(channel.error());
    std::printf("%u ranks met in %.2f s\n", ranks, seconds_since(begin));
    double longest = 0;
    const Deadline first = Clock::now();
    for (int round = 0; round < rounds; ++round) {
        const Deadline start = Clock::now();
        (*channel)->gather("");
        (*channel)->broadcast("");
        longest = std::max(longest, seconds_since(start));
    }
    std::printf("gather and broadcast: %.0f ms on average, %.0f ms at most\n",
                1e3 * seconds_since(first) / rounds, 1e3 * longest);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto files = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    std::printf("rank 0: %ld MiB, %td open files, %ld.%02ld s of CPU\n", usage.ru_maxrss / 1024,
                files, usage.ru_utime.tv_sec + usage.ru_stime.tv_sec,
                (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 10000 % 100);
    std::fflush(stdout);
    _exit(0);  // the others leave with it
}

}  // namespace
}  // namespace distgpu::scaling

int main(int argc, char** argv) {
    using namespace distgpu;
    if (argc < 2) return 2;
    const auto ranks = static_cast<std::uint32_t>(std::atoi(argv[1]));
    const std::uint16_t port = port_of(*listen_on(0));
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // they would try to connect for ever
        scaling::be_the_others(ranks, port);
        return 0;
    }
    return scaling::be_rank_0(ranks, port, argc > 2 ? std::atoi(argv[2]) : 20);
}
