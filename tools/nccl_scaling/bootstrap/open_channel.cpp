// See channel.h: how the ranks find each other.
#include "base/format.h"
#include "base/io/open_files.h"
#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/follower.h"
#include "bootstrap/leader.h"
#include "bootstrap/messages.h"
#include "bootstrap/open_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <thread>

namespace distgpu::scaling {
namespace {

constexpr const char* phase = "connecting the ranks";

// A rank says hello as soon as it is connected; what does not is no rank.
constexpr std::chrono::seconds for_hello{2};

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

void welcome(Socket connection, const Membership& own, Assembly& assembly, Deadline deadline) {
    const auto line = receive_line(connection, 4096, std::min(deadline, Clock::now() + for_hello));
    const auto hello = line ? read_hello(*line, own) : std::nullopt;
    if (!hello || hello->rank == 0 || assembly.connections[hello->rank].is_open()) return;
    assembly.connections[hello->rank] = std::move(connection);
    assembly.peers[hello->rank] = hello->peer;
    ++assembly.arrived;
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
    while (assembly.arrived < own.world_size) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0) return tl::make_unexpected(nobody_else(assembly, options));
        pollfd entry{listener->fd(), POLLIN, 0};
        poll(&entry, 1, static_cast<int>(left.count()));
        if (auto connection = accept_from(*listener)) {
            welcome(*std::move(connection), own, assembly, deadline);
        } else if (errno == EMFILE || errno == ENFILE) {
            return refuse({"connection of a rank", std::strerror(errno), ""});
        }
    }
    auto leader =
        std::make_unique<Leader>(assembly.peers, std::move(assembly.connections), options);
    leader->broadcast(peers_text(assembly.peers));
    return leader;
}

// Rank 0 may come later than this rank: tries until the time-out.
Result<Socket> connect_to_leader(const Membership& own, Deadline deadline) {
    for (;;) {
        auto connection = connect_to(own.address, own.port, deadline);
        constexpr std::chrono::milliseconds pause{50};
        if (connection || Clock::now() + pause >= deadline) return connection;
        std::this_thread::sleep_for(pause);
    }
}

tl::expected<std::unique_ptr<Channel>, Ending> follow(const Membership& own,
                                                      const ChannelOptions& options) {
    const Deadline deadline = Clock::now() + options.timeout;
    auto connection = connect_to_leader(own, deadline);
    if (!connection) {
        auto ending = refuse(connection.error()).value();
        ending.code = ExitCode::timed_out;
        return tl::make_unexpected(std::move(ending));
    }
    const auto said = send_all(*connection, hello_line(own), deadline);
    if (!said) return refuse(said.error());
    const auto line = receive_line(*connection, longest_line, deadline + for_rank_0);
    if (!line) return refuse({"rank 0", line.error().problem, ""});
    auto peers = read_peers(*line, own.world_size);
    if (!peers) {
        return refuse({formatted("{}:{}", own.address, own.port), "not rank 0 of this run", ""});
    }
    return std::make_unique<Follower>(*std::move(peers), *std::move(connection), options);
}

}  // namespace

tl::expected<std::unique_ptr<Channel>, Ending> open_channel(const Membership& own,
                                                            const ChannelOptions& options) {
    raise_open_files();
    return own.rank == 0 ? lead(own, options) : follow(own, options);
}

}  // namespace distgpu::scaling
