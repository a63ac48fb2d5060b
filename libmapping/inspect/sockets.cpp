#include "inspect/sockets.h"

#include "base/io/descriptor.h"
#include "base/values.h"
#include "inspect/process_facts.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

constexpr std::uint8_t established = 1;  // TCP_ESTABLISHED of linux/tcp_states.h
constexpr std::size_t max_connections = 65'536;

// A copy of the value at the beginning of the bytes; the rest of it is zero if they are too few, as
// those of an older kernel.
template <class Value>
Value copy_of(std::string_view bytes) {
    Value value{};
    bytes.copy(static_cast<char*>(static_cast<void*>(&value)), sizeof value);
    return value;
}

// Removes the first part, whose length says its header, from `bytes`; nullopt if they are fewer.
// The next part begins at a multiple of four.
template <class Header>
std::optional<std::string_view> cut_part(std::string_view& bytes, std::size_t length) {
    constexpr std::size_t alignment = 4;
    if (length < sizeof(Header) || length > bytes.size()) return std::nullopt;
    const std::string_view part = bytes.substr(sizeof(Header), length - sizeof(Header));
    const std::size_t aligned = (length + alignment - 1) / alignment * alignment;
    bytes.remove_prefix(std::min(aligned, bytes.size()));
    return part;
}

// The attribute tcp_info behind an inet_diag_msg; empty if it is missing.
std::string_view info_among(std::string_view attributes) {
    while (attributes.size() >= sizeof(nlattr)) {
        const auto header = copy_of<nlattr>(attributes);
        const auto value = cut_part<nlattr>(attributes, header.nla_len);
        if (!value) return {};
        if (header.nla_type == INET_DIAG_INFO) return *value;
    }
    return {};
}

void add_connection(std::string_view message, TcpConnections& connections) {
    if (message.size() < sizeof(inet_diag_msg)) return;
    const auto socket = copy_of<inet_diag_msg>(message);
    const bool is_ip = socket.idiag_family == AF_INET || socket.idiag_family == AF_INET6;
    if (!is_ip || socket.idiag_state != established || socket.idiag_inode == 0) return;
    std::array<char, INET6_ADDRSTRLEN> peer{};
    const std::array<std::uint32_t, 4> address = std::to_array(socket.id.idiag_dst);
    inet_ntop(socket.idiag_family, address.data(), peer.data(), peer.size());
    TcpConnection& connection = connections[socket.idiag_inode];
    connection.local_port = ntohs(socket.id.idiag_sport);
    connection.peer_port = ntohs(socket.id.idiag_dport);
    connection.connection = {host_and_port(peer.data(), connection.peer_port), socket.idiag_wqueue,
                             socket.idiag_rqueue};
    const std::string_view bytes = info_among(message.substr(sizeof socket));
    const auto info = copy_of<tcp_info>(bytes);
    connection.bytes = info.tcpi_bytes_acked + info.tcpi_bytes_received;
    connection.quiet =
        std::chrono::milliseconds(std::min(info.tcpi_last_data_sent, info.tcpi_last_data_recv));
}

// Asks for all established connections over IPv4 or IPv6. Returns false if that fails.
bool ask_for_connections(int socket, int family) {
    struct {
        nlmsghdr header;
        inet_diag_req_v2 request;
    } question{};
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    question.request.sdiag_family = static_cast<std::uint8_t>(family);
    question.request.sdiag_protocol = IPPROTO_TCP;
    question.request.idiag_ext = 1U << (INET_DIAG_INFO - 1U);
    question.request.idiag_states = 1U << established;
    return send(socket, &question, sizeof question, 0) == sizeof question;
}

// Reads one answer; empty if none came in time.
std::string_view receive_answer(int socket, std::string& buffer) {
    sockaddr_nl sender{};
    socklen_t length = sizeof sender;
    ssize_t size = 0;
    do {
        // The socket API requires this cast.
        size = recvfrom(socket, buffer.data(), buffer.size(), 0,
                        reinterpret_cast<sockaddr*>(&sender), &length);
    } while (size < 0 && errno == EINTR);
    const bool is_from_kernel = size > 0 && sender.nl_pid == 0;
    return std::string_view(buffer).substr(0, is_from_kernel ? static_cast<std::size_t>(size) : 0);
}

void read_connections(int family, Deadline deadline, TcpConnections& connections) {
    const UniqueFd kernel(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    const timeval timeout{1, 0};
    if (!kernel.is_open() ||
        setsockopt(kernel.fd(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0 ||
        !ask_for_connections(kernel.fd(), family)) {
        return;
    }
    constexpr std::size_t buffer_size = 65'536;  // the kernel sends up to 32 KiB at once
    std::string buffer(buffer_size, '\0');
    while (Clock::now() < deadline && connections.size() < max_connections) {
        TcpAnswer answer = parse_tcp_answer(receive_answer(kernel.fd(), buffer));
        connections.merge(answer.connections);
        if (answer.is_last) return;
    }
}

}  // namespace

TcpAnswer parse_tcp_answer(std::string_view messages) {
    TcpAnswer answer{.is_last = messages.empty()};
    while (!messages.empty() && !answer.is_last) {
        const auto header = copy_of<nlmsghdr>(messages);
        const auto message = cut_part<nlmsghdr>(messages, header.nlmsg_len);
        answer.is_last =
            !message || header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR;
        if (!answer.is_last && header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
            add_connection(*message, answer.connections);
        }
    }
    return answer;
}

TcpConnections read_tcp_connections() {
    constexpr std::chrono::seconds timeout{2};
    const auto deadline = Clock::now() + timeout;
    TcpConnections connections;
    for (const int family : {AF_INET, AF_INET6}) read_connections(family, deadline, connections);
    return connections;
}

std::set<std::uint16_t> background_ports(const Environment& environment) {
    std::set<std::uint16_t> ports;
    // A port, or an address with one.
    for (const char* const name : {"MASTER_PORT", "PET_MASTER_PORT", "HOROVOD_GLOO_RENDEZVOUS_PORT",
                                   "JAX_COORDINATOR_ADDRESS", "RAY_ADDRESS", "NCCL_RAS_ADDR"}) {
        const std::string value = environment.text(name);
        constexpr std::size_t port_limit = 65'536;
        const auto port = number_below(value.substr(value.rfind(':') + 1), port_limit);
        if (port.value_or(0) != 0) ports.insert(static_cast<std::uint16_t>(*port));
    }
    return ports;
}

ProcessSockets sockets_of(pid_t pid, const TcpConnections& all,
                          const std::set<std::uint16_t>& background) {
    constexpr std::size_t max_shown = 16;
    ProcessSockets sockets;
    for_each_open_file(pid, [&](const std::string& file) {
        constexpr std::string_view prefix = "socket:[";
        if (!file.starts_with(prefix)) return true;
        const auto inode =
            whole_number_64(trimmed(std::string_view(file).substr(prefix.size()), "]"));
        const auto found = inode ? all.find(*inode) : all.end();
        if (found == all.end()) return true;
        const TcpConnection& each = found->second;
        sockets.connections.push_back(each.connection);
        if (background.contains(each.local_port) || background.contains(each.peer_port))
            return true;
        sockets.peer_bytes += each.bytes;
        const double quiet = std::chrono::duration<double>(each.quiet).count();
        sockets.quiet = std::min(sockets.quiet.value_or(quiet), quiet);
        return true;
    });
    std::ranges::sort(sockets.connections, {}, [](const Connection& each) {
        return std::tuple(~(each.unsent + each.unread), each.peer);
    });
    sockets.connections.resize(std::min(sockets.connections.size(), max_shown));
    return sockets;
}

}  // namespace distgpu
