#include "meet/meeting.h"

#include "base/format.h"
#include "base/values.h"
#include "node/step_variables.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view welcome_word = "welcome";
// For one end, until the other has said its line. A guest has it ready when it connects.
constexpr auto patience = 3s;

std::string greeting(const Meeting& meeting) {
    return formatted("distgpu {} {} ", meeting.purpose, meeting.step);
}

Error another_program(const std::string& where) {
    return {where, "another program answers there", "give another port with the key port=N"};
}

// Nothing: not the host of this meeting.
std::optional<Invitation> read_greeting(std::string_view line, const Meeting& meeting) {
    const std::string beginning = greeting(meeting);
    if (line.substr(0, beginning.size()) != beginning) return std::nullopt;
    line.remove_prefix(beginning.size());
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    const auto proof = proof_names.value_of(line.substr(0, space));
    // Of fixed length, so that no challenge holds the beginning of another's text.
    const auto challenge = Secret::parse(line.substr(space + 1));
    if (!proof || !challenge) return std::nullopt;
    return Invitation{{}, {}, *proof, challenge->to_string()};
}

// Else who happens to listen there could choose what is to be believed.
std::optional<Error> differing_proofs(Proof hosts, const Meeting& meeting,
                                      const std::string& where) {
    const Proof own = best_proof(meeting.secret);
    if (hosts == own) return std::nullopt;
    const auto given = prove(hosts, meeting.secret, "", "");
    if (!given) return Error{where, given.error().problem, given.error().remedy};
    return Error{
        where,
        formatted("rank 0's node proves itself by '{}', this node by '{}'",
                  proof_names.word_of(hosts), proof_names.word_of(own)),
        "look for a wrapper script that unsets SLURM_DISTGPU_SECRET, or for munged that does "
        "not run on one of them"};
}

}  // namespace

Host::Host(Meeting meeting) : meeting_(std::move(meeting)), proof_(best_proof(meeting_.secret)) {}

void Host::add_to(std::vector<pollfd>& waiting) const {
    for (const Visitor& visitor : visitors_) waiting.push_back({visitor.socket.fd(), POLLIN, 0});
}

std::optional<Error> Host::greet(const Socket& listener) {
    constexpr int most_at_once = 64;
    // Fewer than the files that a process may usually have open.
    constexpr std::size_t most_visitors = 512;
    for (int i = 0; i < most_at_once; ++i) {
        // One of the step introduces itself at once: who has waited longest is the least likely to
        // be one, and who is sent away by a flood comes again.
        auto socket = accept_from(listener);
        if (!socket) {
            if (errno != EMFILE && errno != ENFILE) break;  // nobody waits
            if (visitors_.empty()) return Error{"connection of a rank", std::strerror(errno), ""};
            visitors_.pop_front();
            continue;
        }
        const auto challenge = draw_secret();
        if (!challenge) continue;
        Visitor visitor{*std::move(socket), challenge->to_string(),
                        std::chrono::system_clock::now(), Clock::now() + patience};
        const std::string line = formatted("{}{} {}\n", greeting(meeting_),
                                           proof_names.word_of(proof_), visitor.challenge);
        // A new connection's buffer takes a line at once.
        if (!send_all(visitor.socket, line, Clock::now())) continue;
        if (visitors_.size() >= most_visitors) visitors_.pop_front();
        visitors_.push_back(std::move(visitor));
    }
    return std::nullopt;
}

std::vector<Guest> Host::introduced() {
    std::vector<Guest> guests;
    for (Visitor& visitor : visitors_) {
        if (auto guest = hear(visitor)) guests.push_back(*std::move(guest));
        if (Clock::now() >= visitor.until) visitor.socket = Socket();
    }
    const auto gone = [](const Visitor& visitor) { return !visitor.socket.is_open(); };
    visitors_.erase(std::remove_if(visitors_.begin(), visitors_.end(), gone), visitors_.end());
    return guests;
}

// Nothing: not yet known, or closed as nobody's of the step.
std::optional<Guest> Host::hear(Visitor& visitor) {
    std::array<char, 4096> piece{};
    const ssize_t got = recv(visitor.socket.fd(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got > 0) visitor.received.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = visitor.received.find('\n');
    const bool is_whole = end != std::string::npos;
    if (got > 0 && !is_whole && visitor.received.size() <= longest_proven_line) return std::nullopt;
    Visitor heard = std::exchange(visitor, Visitor{{}, {}, {}, visitor.until});
    if (heard.received.empty()) return std::nullopt;
    // A guest says no more until it is welcome.
    const std::string line = heard.received.substr(0, end);
    std::optional<Guest> guest;
    if (is_whole && end + 1 == heard.received.size()) guest = guest_of(std::move(heard), line);
    if (!guest) ++strangers_;
    return guest;
}

std::optional<Guest> Host::guest_of(Visitor visitor, std::string_view line) const {
    const auto said = proven(proof_, meeting_.secret, visitor.challenge, line);
    const std::size_t space = said ? said->find(' ') : std::string::npos;
    if (space == std::string::npos) return std::nullopt;
    const auto back = Secret::parse(std::string_view(*said).substr(0, space));
    if (!back) return std::nullopt;
    return Guest{std::move(visitor.socket), said->substr(space + 1), std::move(visitor.challenge),
                 back->to_string(), visitor.greeted};
}

bool Host::welcome(const Guest& guest) const {
    const auto line = prove(proof_, meeting_.secret, guest.back_challenge, welcome_word);
    return line && send_all(guest.socket, *line + "\n", Clock::now());
}

Result<Invitation> reach(const Meeting& meeting, const std::string& host, std::uint16_t port,
                         Deadline deadline) {
    const std::string where = host_and_port(host, port);
    const Deadline soon = std::min(deadline, Clock::now() + patience);
    auto socket = connect_to(host, port, soon);
    if (!socket) return socket.error();
    const auto said = receive_line(*socket, longest_proven_line, soon);
    if (!said) {
        return Error{where, "rank 0 does not answer there",
                     "give another port with the key port=N"};
    }
    auto invitation = read_greeting(*said, meeting);
    if (!invitation) return another_program(where);
    if (const auto error = differing_proofs(invitation->proof, meeting, where)) return *error;
    invitation->socket = *std::move(socket);
    invitation->where = where;
    return *std::move(invitation);
}

Result<Invitation> introduce(Invitation invitation, const Meeting& meeting, std::string_view text,
                             Deadline deadline) {
    const std::string& where = invitation.where;
    const auto back = draw_secret();
    if (!back) return Error{where, "the kernel gives no random numbers", ""};
    const auto line = prove(invitation.proof, meeting.secret, invitation.challenge,
                            formatted("{} {}", back->to_string(), text));
    if (!line) return Error{where, line.error().problem, line.error().remedy};
    const auto answer = send_all(invitation.socket, *line + "\n", deadline).and_then([&](auto) {
        return receive_line(invitation.socket, longest_proven_line, deadline);
    });
    if (!answer) return Error{where, "the connection broke", "run it again"};
    if (proven(invitation.proof, meeting.secret, back->to_string(), *answer) != welcome_word) {
        return another_program(where);
    }
    return invitation;
}

std::optional<std::pair<NodeLink, NodeLink>> NodeLink::within_process() {
    std::array<int, 2> ends{};
    constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (socketpair(AF_UNIX, kind, 0, ends.data()) != 0) return std::nullopt;
    return std::pair(NodeLink(Socket(ends[0]), Proof::none, std::nullopt, ""),
                     NodeLink(Socket(ends[1]), Proof::none, std::nullopt, ""));
}

bool NodeLink::send(std::string_view line, Deadline deadline) {
    const auto text = prove(proof_, secret_, challenge_, line);
    if (is_open() && text && send_all(socket_, *text + "\n", deadline)) return true;
    socket_ = Socket();
    return false;
}

void NodeLink::take_arrived() {
    std::array<char, 4096> piece{};
    const ssize_t got = recv(socket_.fd(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) arrived_.append(piece.data(), static_cast<std::size_t>(got));
    if (got <= 0 || arrived_.size() > longest_proven_line) socket_ = Socket();
}

std::optional<std::string> NodeLink::next_line() {
    const std::size_t end = arrived_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    auto line = proven(proof_, secret_, challenge_, std::string_view(arrived_).substr(0, end));
    arrived_.erase(0, end + 1);
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
        if (ready > 0) take_arrived();
    }
}

}  // namespace distgpu
