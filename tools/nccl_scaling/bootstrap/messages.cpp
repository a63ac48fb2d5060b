// See messages.h.
#include "bootstrap/messages.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace distgpu::scaling {
namespace {

using nlohmann::json;

constexpr const char* protocol = "nccl-scaling/1";

}  // namespace

std::string failed_line(ExitCode code, std::string_view problem) {
    std::string text = std::to_string(static_cast<int>(code)).append(problem);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return line_of(Kind::failed, text);
}

Failed read_failed(std::string_view text) {
    if (text.empty()) return {};
    const int digit = text.front() - '0';
    const bool known = digit >= static_cast<int>(ExitCode::check_failed) &&
                       digit <= static_cast<int>(ExitCode::wrong_data);
    return {known ? static_cast<ExitCode>(digit) : ExitCode::environment,
            std::string(text.substr(1))};
}

std::string hello_line(const Membership& own) {
    const json hello{protocol, own.job, own.world_size, own.rank, own.host, own.local_rank};
    return hello.dump() + '\n';
}

std::optional<Hello> read_hello(std::string_view line, const Membership& own) try {
    const json hello = json::parse(line);
    if (hello.at(0) != protocol || hello.at(1) != own.job || hello.at(2) != own.world_size) {
        return std::nullopt;
    }
    Hello read{hello.at(3), {hello.at(4), hello.at(5)}};
    return read.rank < own.world_size ? std::optional(std::move(read)) : std::nullopt;
} catch (const json::exception&) {
    return std::nullopt;
}

std::string peers_text(const std::vector<Peer>& peers) {
    json list = json::array();
    for (const Peer& peer : peers) list.push_back({peer.host, peer.local_rank});
    return list.dump();
}

std::optional<std::vector<Peer>> read_peers(std::string_view text) try {
    const json list = json::parse(text);
    std::vector<Peer> peers;
    peers.reserve(list.size());
    for (const json& peer : list) peers.push_back({peer.at(0), peer.at(1)});
    return peers;
} catch (const json::exception&) {
    return std::nullopt;
}

}  // namespace distgpu::scaling
