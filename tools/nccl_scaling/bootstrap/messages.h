// The messages of the control channel: lines whose first character is the kind.
#pragma once

#include "base/format.h"
#include "bootstrap/channel.h"
#include "meet/handshake.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu::scaling {

enum class MessageKind : char {
    data = 'd',      // a text of gather() or broadcast()
    ping = '?',      // rank 0 asks for a rank's progress
    progress = '!',  // the answer: a number
    failed = 'x',    // the sender ends: its exit code as one digit, and the problem
};

inline constexpr std::size_t longest_line = std::size_t{1} << 26U;

inline std::string message_line(MessageKind kind, std::string_view text) {
    std::string line(1, static_cast<char>(kind));
    return line.append(text).append(1, '\n');
}

std::string failure_line(ExitCode code, std::string_view problem);

// The text of a `failed` message. The problem is made printable, as is the host of a peer, because
// anyone can send anything to a port.
struct RankFailure {
    ExitCode code = ExitCode::environment;
    std::string problem;

    bool operator==(const RankFailure&) const = default;
};
RankFailure read_rank_failure(std::string_view text);

// A rank's first message.
struct Hello {
    std::uint32_t rank = 0;
    Peer peer;

    bool operator==(const Hello&) const = default;
};

std::string hello_text(const Membership& own);

// nullopt if it is not from a rank of the run that `own` belongs to.
std::optional<Hello> read_hello(std::string_view line, const Membership& own);

std::string peers_text(const std::vector<Peer>& peers);

// Reads the message that contains peers_text(). nullopt for another message or number of ranks.
std::optional<std::vector<Peer>> read_peers(std::string_view line, std::uint32_t world_size);

// Opens the channel on rank 0, and on the other ranks.
tl::expected<std::unique_ptr<Channel>, Termination> open_leader(const Membership& own,
                                                                const ChannelOptions& options);
tl::expected<std::unique_ptr<Channel>, Termination> open_follower(const Membership& own,
                                                                  const ChannelOptions& options);

inline Handshake handshake_of(const Membership& own, const ChannelOptions& options) {
    return {"nccl-scaling", own.job.empty() ? "-" : own.job, options.secret};
}

inline constexpr const char* connecting_phase = "connecting the ranks";

// A rank cannot connect.
inline tl::unexpected<Termination> connection_failure(const Error& error,
                                                      ExitCode code = ExitCode::environment) {
    return tl::make_unexpected(Termination{
        code, {connecting_phase, formatted("{}: {}", error.object, error.problem), {}}});
}

}  // namespace distgpu::scaling
