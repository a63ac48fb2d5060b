// See channel.h: how the ranks find each other.
#include "base/format.h"
#include "base/io/open_files.h"
#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/follower.h"
#include "bootstrap/leader.h"
#include "bootstrap/messages.h"
#include "bootstrap/open_files.h"
#include "meet/meeting.h"

#include <poll.h>
#include <thread>

namespace distgpu::scaling {
namespace {

constexpr const char* phase = "connecting the ranks";

// Rank 0 names the missing ranks at the time-out; the others wait a little longer for it.
constexpr std::chrono::seconds for_rank_0{5};

tl::unexpected<Ending> refuse(const Error& error) {
    return tl::make_unexpected(Ending{
        ExitCode::environment, {phase, formatted("{}: {}", error.object, error.problem), {}}});
}

struct Assembly {
    std::vector<Peer> peers;
    std::vector<Socket> connections;  // by rank, rank 0's not open
    std::uint32_t arrived = 1;
};

// Who is no rank of this run, or one that is there already, is sent away.
void take(Guest guest, const Host& host, const Membership& own, Assembly& assembly) {
    const auto hello = read_hello(guest.text, own);
    if (!hello || hello->rank == 0 || assembly.connections[hello->rank].is_open()) return;
    if (!host.welcome(guest)) return;
    assembly.connections[hello->rank] = std::move(guest.socket);
    assembly.peers[hello->rank] = hello->peer;
    ++assembly.arrived;
}

Meeting meeting_of(const Membership& own, const ChannelOptions& options) {
    return {"nccl-scaling", own.job.empty() ? "-" : own.job, options.secret};
}

Ending nobody_else(const Assembly& assembly, const ChannelOptions& options) {
    Ending ending{
        ExitCode::timed_out,
        {phase,
         formatted("only {} of {} ranks connected within {} s", assembly.arrived,
                   assembly.peers.size(), std::chrono::duration<double>(options.timeout).count()),
         {}}};
    for (std::uint32_t rank = 1; rank < assembly.peers.size(); ++rank) {
        if (!assembly.connections[rank].is_open()) {
            ending.failure.missing.push_back(options.names(rank));
        }
    }
    return ending;
}

tl::expected<std::unique_ptr<Channel>, Ending> lead(const Membership& own,
                                                    const ChannelOptions& options) {
    if (const auto lack = lack_of_open_files(own.world_size)) {
        return refuse({lack->object, lack->problem + "; " + lack->remedy, ""});
    }
    const Deadline deadline = Clock::now() + options.timeout;
    const auto listener = listen_on(own.port);
    if (!listener) return refuse(listener.error());
    Assembly assembly{std::vector<Peer>(own.world_size), std::vector<Socket>(own.world_size), 1};
    assembly.peers.front() = {own.host, own.local_rank};
    Host host(meeting_of(own, options));
    if (host.proof() == Proof::none && own.world_size > 1) {
        options.warn({"the ranks",
                      "not proven to be of this run, so another user could be one of them",
                      "start it with srun --distgpu=pytorch, or start munged"});
    }
    while (assembly.arrived < own.world_size) {
        if (Clock::now() >= deadline) return tl::make_unexpected(nobody_else(assembly, options));
        std::vector<pollfd> waiting{{listener->fd(), POLLIN, 0}};
        host.add_to(waiting);
        poll_until(waiting, host.next_turn(deadline));
        if (const auto error = host.greet(*listener)) return refuse(*error);
        for (Guest& guest : host.introduced()) take(std::move(guest), host, own, assembly);
    }
    auto leader =
        std::make_unique<Leader>(assembly.peers, std::move(assembly.connections), options);
    leader->broadcast(peers_text(assembly.peers));
    return leader;
}

// Rank 0 may come later than this rank: tries until the time-out.
Result<Invitation> connect_to_rank_0(const Membership& own, const ChannelOptions& options,
                                     Deadline deadline) {
    const Meeting meeting = meeting_of(own, options);
    std::optional<Error> problem;
    for (;;) {
        auto rank_0 =
            reach(meeting, own.address, own.port, deadline).and_then([&](Invitation host) {
                return introduce(std::move(host), meeting, hello_text(own), deadline);
            });
        constexpr std::chrono::milliseconds pause{50};
        if (rank_0) return rank_0;
        // What an attempt says whose time ran out, an earlier one may know better.
        if (!problem || Clock::now() < deadline) problem = rank_0.error();
        if (Clock::now() + pause >= deadline) return *problem;
        std::this_thread::sleep_for(pause);
    }
}

tl::expected<std::unique_ptr<Channel>, Ending> follow(const Membership& own,
                                                      const ChannelOptions& options) {
    const Deadline deadline = Clock::now() + options.timeout;
    auto rank_0 = connect_to_rank_0(own, options, deadline);
    if (!rank_0) {
        auto ending = refuse(rank_0.error()).value();
        ending.code = ExitCode::timed_out;
        return tl::make_unexpected(std::move(ending));
    }
    const auto line = receive_line(rank_0->socket, longest_line, deadline + for_rank_0);
    if (!line) return refuse({"rank 0", line.error().problem, ""});
    auto peers = read_peers(*line, own.world_size);
    if (!peers) {
        return refuse({formatted("{}:{}", own.address, own.port), "not rank 0 of this run", ""});
    }
    return std::make_unique<Follower>(*std::move(peers), std::move(rank_0->socket), options);
}

}  // namespace

tl::expected<std::unique_ptr<Channel>, Ending> open_channel(const Membership& own,
                                                            const ChannelOptions& options) {
    raise_open_files();
    return own.rank == 0 ? lead(own, options) : follow(own, options);
}

}  // namespace distgpu::scaling
