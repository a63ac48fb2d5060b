// What goes over the control channel: lines, the first character of which is the kind.
#pragma once

#include "base/format.h"
#include "bootstrap/channel.h"
#include "meet/meeting.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu::scaling {

enum class Kind : char {
    data = 'd',      // a text of gather() or broadcast()
    ping = '?',      // rank 0 asks how far a rank is
    progress = '!',  // the answer: a number
    failed = 'x',    // the sender ends: a digit, the exit code, and why
};

inline constexpr std::size_t longest_line = std::size_t{1} << 26U;

inline std::string line_of(Kind kind, std::string_view text) {
    std::string line(1, static_cast<char>(kind));
    return line.append(text).append(1, '\n');
}

std::string failed_line(ExitCode code, std::string_view problem);

// Of the text of a line of the kind `failed`. The problem is printable, as is the host of a peer:
// anybody may send anything to a port.
struct Failed {
    ExitCode code = ExitCode::environment;
    std::string problem;

    bool operator==(const Failed&) const = default;
};
Failed read_failed(std::string_view text);

// As which a rank introduces itself.
struct Hello {
    std::uint32_t rank = 0;
    Peer peer;

    bool operator==(const Hello&) const = default;
};

std::string hello_text(const Membership& own);

// Nothing: not from a rank of the run that `own` belongs to.
std::optional<Hello> read_hello(std::string_view line, const Membership& own);

std::string peers_text(const std::vector<Peer>& peers);

// Of the line that carries it. Nothing: another line, or another number of ranks.
std::optional<std::vector<Peer>> read_peers(std::string_view line, std::uint32_t world_size);

// The two ends of the channel: of rank 0, and of the others.
tl::expected<std::unique_ptr<Channel>, Ending> lead(const Membership& own,
                                                    const ChannelOptions& options);
tl::expected<std::unique_ptr<Channel>, Ending> follow(const Membership& own,
                                                      const ChannelOptions& options);

inline Meeting meeting_of(const Membership& own, const ChannelOptions& options) {
    return {"nccl-scaling", own.job.empty() ? "-" : own.job, options.secret};
}

inline constexpr const char* connecting = "connecting the ranks";

// Why a rank cannot connect.
inline tl::unexpected<Ending> refuse(const Error& error, ExitCode code = ExitCode::environment) {
    return tl::make_unexpected(
        Ending{code, {connecting, formatted("{}: {}", error.object, error.problem), {}}});
}

}  // namespace distgpu::scaling
