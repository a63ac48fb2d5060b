#include "meet/handshake.h"

#include "base/format.h"
#include "base/values.h"
#include "node/step_variables.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view welcome_line = "welcome";
// For each end, until the other has sent its line. A client can send it as soon as it connects.
constexpr auto timeout = 3s;

std::string greeting(const Handshake& handshake) {
    return formatted("distgpu {} {} ", handshake.purpose, handshake.step);
}

Error another_program(const std::string& where) {
    return {where, "another program answers there", "give another port with the key port=N"};
}

// nullopt if it is not from the server of this handshake.
std::optional<ServerConnection> read_greeting(std::string_view line, const Handshake& handshake) {
    const std::string beginning = greeting(handshake);
    if (line.substr(0, beginning.size()) != beginning) return std::nullopt;
    line.remove_prefix(beginning.size());
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    const auto proof = proof_names.value_of(line.substr(0, space));
    // Of fixed length, so that no challenge can contain the beginning of another text.
    const auto challenge = Secret::parse(line.substr(space + 1));
    if (!proof || !challenge) return std::nullopt;
    return ServerConnection{{}, {}, *proof, challenge->to_string()};
}

// Refuses a weaker proof: otherwise any process that listens there could choose how it is verified.
std::optional<Error> differing_proofs(Proof server_proof, const Handshake& handshake,
                                      const std::string& where) {
    const Proof own = best_proof(handshake.secret);
    if (server_proof == own) return std::nullopt;
    const auto line = sign_line(server_proof, handshake.secret, "", "");
    if (!line) return Error{where, line.error().problem, line.error().remedy};
    return Error{
        where,
        formatted("rank 0's node authenticates with '{}', this node with '{}'",
                  proof_names.name_of(server_proof), proof_names.name_of(own)),
        "look for a wrapper script that unsets SLURM_DISTGPU_SECRET, or for munged that does "
        "not run on one of them"};
}

}  // namespace

HandshakeServer::HandshakeServer(Handshake handshake)
    : handshake_(std::move(handshake)), proof_(best_proof(handshake_.secret)) {}

void HandshakeServer::add_to(std::vector<pollfd>& waiting) const {
    for (const PendingClient& client : pending_) waiting.push_back({client.socket.fd(), POLLIN, 0});
}

std::optional<Error> HandshakeServer::accept_clients(const Socket& listener) {
    constexpr int max_at_once = 64;
    // Fewer than the files that a process may usually have open.
    constexpr std::size_t max_pending = 512;
    for (int i = 0; i < max_at_once; ++i) {
        // Clients of the step send their line at once, so the oldest pending connection is the
        // least likely to be one. A client that is dropped in a flood connects again.
        auto socket = accept_from(listener);
        if (!socket) {
            if (errno != EMFILE && errno != ENFILE) break;  // no connection is waiting
            if (pending_.empty()) return Error{"connection of a rank", std::strerror(errno), ""};
            pending_.pop_front();
            continue;
        }
        const auto challenge = draw_secret();
        if (!challenge) continue;
        PendingClient client{*std::move(socket), challenge->to_string(),
                             std::chrono::system_clock::now(), Clock::now() + timeout};
        const std::string line = formatted("{}{} {}\n", greeting(handshake_),
                                           proof_names.name_of(proof_), client.challenge);
        // Does not block: a line fits into the buffer of a new connection.
        if (!send_all(client.socket, line, Clock::now())) continue;
        if (pending_.size() >= max_pending) pending_.pop_front();
        pending_.push_back(std::move(client));
    }
    return std::nullopt;
}

std::vector<VerifiedClient> HandshakeServer::verified_clients() {
    std::vector<VerifiedClient> verified;
    for (PendingClient& client : pending_) {
        if (auto result = receive_from(client)) verified.push_back(*std::move(result));
        if (Clock::now() >= client.deadline) client.socket = Socket();
    }
    const auto is_closed = [](const PendingClient& client) { return !client.socket.is_open(); };
    pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_closed), pending_.end());
    return verified;
}

// nullopt if its line is not complete yet, or if it was rejected and closed.
std::optional<VerifiedClient> HandshakeServer::receive_from(PendingClient& client) {
    std::array<char, 4096> buffer{};
    const ssize_t size = recv(client.socket.fd(), buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (size > 0) client.received.append(buffer.data(), static_cast<std::size_t>(size));
    const std::size_t end = client.received.find('\n');
    const bool is_complete = end != std::string::npos;
    if (size > 0 && !is_complete && client.received.size() <= max_signed_line) return std::nullopt;
    PendingClient finished = std::exchange(client, PendingClient{{}, {}, {}, client.deadline});
    if (finished.received.empty()) return std::nullopt;
    // A client sends only this line before its welcome.
    const std::string line = finished.received.substr(0, end);
    std::optional<VerifiedClient> verified;
    if (is_complete && end + 1 == finished.received.size()) {
        verified = verify(std::move(finished), line);
    }
    if (!verified) ++rejected_count_;
    return verified;
}

std::optional<VerifiedClient> HandshakeServer::verify(PendingClient client,
                                                      std::string_view line) const {
    const auto text = verify_line(proof_, handshake_.secret, client.challenge, line);
    const std::size_t space = text ? text->find(' ') : std::string::npos;
    if (space == std::string::npos) return std::nullopt;
    const auto client_challenge = Secret::parse(std::string_view(*text).substr(0, space));
    if (!client_challenge) return std::nullopt;
    return VerifiedClient{std::move(client.socket), text->substr(space + 1),
                          std::move(client.challenge), client_challenge->to_string(),
                          client.greeted_at};
}

bool HandshakeServer::send_welcome(const VerifiedClient& client) const {
    const auto line = sign_line(proof_, handshake_.secret, client.client_challenge, welcome_line);
    return line && send_all(client.socket, *line + "\n", Clock::now());
}

Result<ServerConnection> connect_to_server(const Handshake& handshake, const std::string& host,
                                           std::uint16_t port, Deadline deadline) {
    const std::string where = host_and_port(host, port);
    const Deadline attempt_deadline = std::min(deadline, Clock::now() + timeout);
    auto socket = connect_to(host, port, attempt_deadline);
    if (!socket) return socket.error();
    const auto line = receive_line(*socket, max_signed_line, attempt_deadline);
    if (!line) {
        return Error{where, "rank 0 does not answer there",
                     "give another port with the key port=N"};
    }
    auto connection = read_greeting(*line, handshake);
    if (!connection) return another_program(where);
    if (const auto error = differing_proofs(connection->proof, handshake, where)) return *error;
    connection->socket = *std::move(socket);
    connection->where = where;
    return *std::move(connection);
}

Result<ServerConnection> authenticate(ServerConnection connection, const Handshake& handshake,
                                      std::string_view text, Deadline deadline) {
    const std::string& where = connection.where;
    const auto challenge = draw_secret();
    if (!challenge) return Error{where, "the kernel gives no random numbers", ""};
    const auto line = sign_line(connection.proof, handshake.secret, connection.challenge,
                                formatted("{} {}", challenge->to_string(), text));
    if (!line) return Error{where, line.error().problem, line.error().remedy};
    const auto answer = send_all(connection.socket, *line + "\n", deadline).and_then([&](auto) {
        return receive_line(connection.socket, max_signed_line, deadline);
    });
    if (!answer) return Error{where, "the connection broke", "run it again"};
    if (verify_line(connection.proof, handshake.secret, challenge->to_string(), *answer) !=
        welcome_line) {
        return another_program(where);
    }
    return connection;
}

std::optional<std::pair<NodeLink, NodeLink>> NodeLink::connected_pair() {
    std::array<int, 2> ends{};
    constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (socketpair(AF_UNIX, kind, 0, ends.data()) != 0) return std::nullopt;
    return std::pair(NodeLink(Socket(ends[0]), Proof::none, std::nullopt, ""),
                     NodeLink(Socket(ends[1]), Proof::none, std::nullopt, ""));
}

bool NodeLink::send(std::string_view line, Deadline deadline) {
    const auto text = sign_line(proof_, secret_, challenge_, line);
    if (is_open() && text && send_all(socket_, *text + "\n", deadline)) return true;
    socket_ = Socket();
    return false;
}

void NodeLink::receive_available() {
    std::array<char, 4096> buffer{};
    const ssize_t size = recv(socket_.fd(), buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size > 0) received_.append(buffer.data(), static_cast<std::size_t>(size));
    if (size <= 0 || received_.size() > max_signed_line) socket_ = Socket();
}

std::optional<std::string> NodeLink::next_line() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    auto line =
        verify_line(proof_, secret_, challenge_, std::string_view(received_).substr(0, end));
    received_.erase(0, end + 1);
    if (!line) socket_ = Socket();
    return line;
}

std::optional<std::string> NodeLink::wait_for_line(Deadline deadline) {
    for (;;) {
        if (auto line = next_line()) return line;
        if (!is_open()) return std::nullopt;
        std::array entry{pollfd{fd(), POLLIN, 0}};
        const int ready = poll_until(entry, deadline);
        if (ready == 0) return std::nullopt;
        if (ready > 0) receive_available();
    }
}

}  // namespace distgpu
