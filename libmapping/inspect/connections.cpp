#include "inspect/connections.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

std::optional<std::uint64_t> hex(std::string_view text) {
    constexpr int base = 16;
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, base);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

// Two numbers and the colon between them.
std::optional<std::pair<std::uint64_t, std::uint64_t>> pair_in(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto first = hex(text.substr(0, colon));
    const auto second = hex(text.substr(colon + 1));
    return first && second ? std::optional(std::pair(*first, *second)) : std::nullopt;
}

// "0200000A:6020": one or four words of 32 bits in the machine's byte order, and the port as a
// number.
std::optional<std::string> peer_of(std::string_view text) {
    constexpr std::size_t digits = 8;  // of a word
    std::array<std::uint32_t, 4> words{};
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (colon != digits && colon != digits * words.size()) return std::nullopt;
    for (std::size_t i = 0; i < colon / digits; ++i) {
        const auto word = hex(text.substr(i * digits, digits));
        if (!word) return std::nullopt;
        words.at(i) = static_cast<std::uint32_t>(*word);
    }
    const auto port = hex(text.substr(std::min(colon + 1, text.size())));
    if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> name{};
    inet_ntop(colon == digits ? AF_INET : AF_INET6, words.data(), name.data(), name.size());
    return host_and_port(name.data(), static_cast<std::uint16_t>(*port));
}

std::map<std::uint64_t, Connection> read_tcp(pid_t pid) {
    std::map<std::uint64_t, Connection> all;
    for (const std::string_view file : {"tcp", "tcp6"}) {
        const auto text = read_regular_file(formatted("/proc/{}/net/{}", pid, file));
        if (text) all.merge(parse_tcp(*text));
    }
    return all;
}

}  // namespace

std::map<std::uint64_t, Connection> parse_tcp(std::string_view text) {
    constexpr std::string_view established = "01";
    std::map<std::uint64_t, Connection> connections;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::array<std::string, 10>
            words;  // sl local rem st tx:rx tr:tm retrnsmt uid timeout inode
        for (std::string& word : words) fields >> word;
        const auto inode = whole_number_64(words[9]);
        if (!fields || !inode || words[3] != established) continue;
        const auto queues = pair_in(words[4]);
        auto peer = peer_of(words[2]);
        if (queues && peer) {
            connections[*inode] = {*std::move(peer), queues->first, queues->second};
        }
    }
    return connections;
}

std::vector<Connection> open_connections(pid_t pid) {
    constexpr std::size_t most = 16;
    const auto all = read_tcp(pid);
    std::vector<Connection> own;
    std::error_code error;
    for (std::filesystem::directory_iterator each(formatted("/proc/{}/fd", pid), error), end;
         !error && each != end; each.increment(error)) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(each->path(), gone);
        constexpr std::string_view socket = "socket:[";
        if (!target.starts_with(socket)) continue;
        const std::string_view number = std::string_view(target).substr(socket.size());
        const auto found =
            all.find(whole_number_64(number.substr(0, number.size() - 1)).value_or(0));
        if (found != all.end()) own.push_back(found->second);
    }
    std::sort(own.begin(), own.end(), [](const Connection& left, const Connection& right) {
        const auto order = [](const Connection& each) {
            return std::tuple(~(each.unsent + each.unread), each.peer);
        };
        return order(left) < order(right);
    });
    own.resize(std::min(own.size(), most));
    return own;
}

}  // namespace distgpu
