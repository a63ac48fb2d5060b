#include "inspect/ras.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/io/socket.h"
#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::size_t longest_line = 4096;

Error no_status(const RasAddress& address, std::string problem) {
    return {formatted("NCCL's RAS at {}", host_and_port(address.host, address.port)),
            std::move(problem), ""};
}

// A question and its one line of answer.
Result<std::string> ask(const Socket& server, std::string_view question, Deadline deadline) {
    return send_all(server, question, deadline).and_then([&](std::monostate) {
        return receive_line(server, longest_line, deadline);
    });
}

// All lines until the server closes the connection.
std::string receive_text(const Socket& server, Deadline deadline) {
    constexpr std::size_t longest = 16'384;
    std::string text;
    while (text.size() < longest) {
        const auto line = receive_line(server, longest_line, deadline);
        if (!line) break;
        text += printable(*line).substr(0, longest - text.size());
        text += '\n';
    }
    return text;
}

}  // namespace

std::optional<RasAddress> parse_ras_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    constexpr std::size_t port_limit = 65'536;
    const auto port = number_below(text.substr(colon + 1), port_limit);
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const bool is_name = !host.empty() && std::all_of(host.begin(), host.end(), is_host_character);
    if (!port || *port == 0 || !is_name) return std::nullopt;
    return RasAddress{std::string(host), static_cast<std::uint16_t>(*port)};
}

Result<std::string> ask_ras(const RasAddress& address, Deadline deadline) {
    const auto server = connect_to(address.host, address.port, deadline);
    if (!server) return std::string();
    // src/ras/ras_internal.h of NCCL 2.28; a server of another version answers with its own.
    const auto greeting = ask(*server, "CLIENT PROTOCOL 2\n", deadline);
    if (!greeting) return no_status(address, greeting.error().problem);
    if (!greeting->starts_with("SERVER PROTOCOL ")) {
        return no_status(address, "another program listens there");
    }
    // For ranks that do not answer, as NCCL counts it twice.
    const auto agreed = ask(*server, "TIMEOUT 3\n", deadline);
    if (!agreed) return no_status(address, agreed.error().problem);
    const auto asked = send_all(*server, "STATUS\n", deadline);
    if (!asked) return no_status(address, asked.error().problem);
    std::string text = receive_text(*server, deadline);
    if (text.empty()) return no_status(address, "no answer");
    return text;
}

}  // namespace distgpu
