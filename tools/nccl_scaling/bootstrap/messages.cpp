#include "bootstrap/messages.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/json.h"

#include <algorithm>
#include <utility>

namespace distgpu::scaling {
namespace {

constexpr std::string_view protocol = "nccl-scaling/5";

// Consecutive ranks on one node with consecutive local ranks. This keeps the list short: rank 0
// sends it to every rank, and a name for each of thousands of ranks would make that gigabytes.
struct NodePeers {
    Peer first;
    std::uint32_t ranks = 0;
};

std::vector<NodePeers> nodes_of(const std::vector<Peer>& peers) {
    std::vector<NodePeers> nodes;
    for (const Peer& peer : peers) {
        const bool is_next = !nodes.empty() && nodes.back().first.host == peer.host &&
                             nodes.back().first.switches == peer.switches &&
                             nodes.back().first.local_rank + nodes.back().ranks == peer.local_rank;
        if (!is_next) nodes.push_back({peer, 0});
        ++nodes.back().ranks;
    }
    return nodes;
}

// Makes the names printable, because they are untrusted.
Peer read_peer(const JsonFields& fields, std::uint32_t world_size) {
    return {printable(fields.text("host")),
            static_cast<std::uint32_t>(fields.index("local_rank", world_size)),
            printable(fields.text("switches"))};
}

}  // namespace

std::string failure_line(ExitCode code, std::string_view problem) {
    std::string text = std::to_string(static_cast<int>(code)).append(problem);
    std::ranges::replace(text, '\n', ' ');
    return message_line(MessageKind::failed, text);
}

RankFailure read_rank_failure(std::string_view text) {
    if (text.empty()) return {};
    const int digit = text.front() - '0';
    const bool known = digit >= static_cast<int>(ExitCode::check_failed) &&
                       digit <= static_cast<int>(ExitCode::wrong_data);
    return {known ? static_cast<ExitCode>(digit) : ExitCode::environment,
            printable(text.substr(1))};
}

std::string hello_text(const Membership& own) {
    const JsonText hello{
        {"protocol", protocol},    {"job", own.job},   {"world_size", own.world_size},
        {"rank", own.rank},        {"host", own.host}, {"local_rank", own.local_rank},
        {"switches", own.switches}};
    return hello.line();
}

std::optional<Hello> read_hello(std::string_view line, const Membership& own) {
    Hello hello;
    bool same_run = false;
    const auto problem = read_json(line, [&](const JsonFields& fields) {
        same_run = fields.text("protocol") == protocol && fields.text("job") == own.job &&
                   fields.count<std::uint32_t>("world_size") == own.world_size;
        hello.rank = static_cast<std::uint32_t>(fields.index("rank", own.world_size));
        hello.peer = read_peer(fields, own.world_size);
    });
    return same_run && !problem ? std::optional(std::move(hello)) : std::nullopt;
}

std::string peers_text(const std::vector<Peer>& peers) {
    const auto list = JsonText::list(nodes_of(peers), [](const NodePeers& node) {
        return JsonText{{"host", node.first.host},
                        {"local_rank", node.first.local_rank},
                        {"switches", node.first.switches},
                        {"ranks", node.ranks}};
    });
    return JsonText{{"peers", list}}.line();
}

std::optional<std::vector<Peer>> read_peers(std::string_view line, std::uint32_t world_size) {
    if (line.empty() || line.front() != static_cast<char>(MessageKind::data)) return std::nullopt;
    std::vector<Peer> peers;
    const auto problem = read_json(line.substr(1), [&](const JsonFields& fields) {
        fields.for_each("peers", [&](const JsonFields& item) {
            Peer peer = read_peer(item, world_size);
            const auto ranks = item.count<std::uint32_t>("ranks");
            if (ranks > world_size - peers.size()) return item.refuse("ranks", "too many");
            for (std::uint32_t i = 0; i < ranks; ++i, ++peer.local_rank) peers.push_back(peer);
        });
    });
    return problem || peers.size() != world_size ? std::nullopt : std::optional(std::move(peers));
}

tl::expected<std::unique_ptr<Channel>, Termination> open_channel(const Membership& own,
                                                                 const ChannelOptions& options) {
    raise_open_file_limit();
    return own.rank == 0 ? open_leader(own, options) : open_follower(own, options);
}

std::optional<Error> read_answer(const std::vector<Peer>& peers, std::uint32_t rank,
                                 std::string_view text,
                                 const std::function<void(const JsonFields&)>& read) {
    const auto problem = read_json(text, read);
    if (!problem) return std::nullopt;
    return Error{names_of_peers(peers)(rank), "sent a malformed answer: " + problem->message(), ""};
}

Result<std::vector<std::vector<double>>> gather_numbers(Channel& channel,
                                                        const std::vector<double>& own) {
    const auto texts = channel.gather(JsonText{{"numbers", JsonText::list(own)}}.line());
    std::vector<std::vector<double>> numbers(texts.size());
    for (std::uint32_t rank = 0; rank < texts.size(); ++rank) {
        const auto error = read_answer(
            channel.peers(), rank, texts[rank],
            [&](const JsonFields& fields) { numbers[rank] = fields.numbers("numbers"); });
        if (error) return *error;
    }
    return numbers;
}

Result<std::vector<std::uint32_t>> broadcast_indices(Channel& channel,
                                                     const std::vector<std::uint32_t>& own,
                                                     std::size_t size) {
    const std::string text = channel.broadcast(JsonText{{"indices", JsonText::list(own)}}.line());
    std::vector<std::uint32_t> indices;
    const auto error = read_answer(channel.peers(), 0, text, [&](const JsonFields& fields) {
        indices = fields.indices("indices", size);
    });
    if (error) return *error;
    return indices;
}

}  // namespace distgpu::scaling
