// See control.h. The head says "distgpu exec STEP PROOF CHALLENGE"; the node, proven by that
// challenge, "NODE CHALLENGE"; the head, proven by this one, "welcome".
#include "exec/control.h"

#include "base/format.h"
#include "base/values.h"
#include "node/step_secret.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view welcome_word = "welcome";
// For a node, from its connection to its welcome.
constexpr auto longest_handshake = 1s;
// A credential of MUNGE, with space to spare.
constexpr std::size_t longest_line = 4096;

constexpr std::array<std::pair<Message::Kind, std::string_view>, 5> words{{
    {Message::Kind::up, "up"},
    {Message::Kind::start, "start"},
    {Message::Kind::ended, "ended"},
    {Message::Kind::stop, "stop"},
    {Message::Kind::end, "end"},
}};

std::string greeting(const ControlledStep& step) {
    return formatted("distgpu exec {} ", step.name);
}

std::string line_of(const Message& message) {
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&](const auto& each) { return each.first == message.kind; });
    return formatted("{} {} {}\n", word->second, message.number, message.text);
}

std::optional<Message> message_in(std::string_view line) {
    constexpr std::size_t most = 256;
    const std::size_t first = std::min(line.find(' '), line.size());
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    const auto word = std::find_if(words.begin(), words.end(), [&](const auto& each) {
        return each.second == line.substr(0, first);
    });
    if (word == words.end() || second == line.size()) return std::nullopt;
    const auto number = number_below(line.substr(first + 1, second - first - 1), most);
    if (!number) return std::nullopt;
    return Message{word->first, static_cast<int>(*number), std::string(line.substr(second + 1))};
}

// A node that is gone without a word is noticed after about a minute.
void watch(const Socket& socket) {
    const auto set = [&](int level, int option, int value) {
        setsockopt(socket.fd(), level, option, &value, sizeof value);
    };
    constexpr int patience = 60;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, patience * 1000);
}

struct Invitation {
    Proof proof;
    std::string challenge;
};

// Nothing: not the head of this step.
std::optional<Invitation> read_greeting(std::string_view line, const ControlledStep& step) {
    const std::string beginning = greeting(step);
    if (line.substr(0, beginning.size()) != beginning) return std::nullopt;
    line.remove_prefix(beginning.size());
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    const auto proof = proof_named(line.substr(0, space));
    const auto challenge = Secret::parse(line.substr(space + 1));
    if (!proof || !challenge) return std::nullopt;
    return Invitation{*proof, challenge->to_string()};
}

Error refused(const ControlledStep& step, std::string problem, std::string remedy) {
    return {host_and_port(step.head, step.port), std::move(problem), std::move(remedy)};
}

}  // namespace

std::vector<Message> Peer::receive() {
    std::vector<Message> messages;
    std::array<char, longest_line> piece{};
    const ssize_t got = recv(socket_.fd(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return messages;
    if (got > 0) received_.append(piece.data(), static_cast<std::size_t>(got));
    bool sound = got > 0;
    for (std::size_t end = 0; sound && (end = received_.find('\n')) != std::string::npos;) {
        auto message = message_in(std::string_view(received_).substr(0, end));
        received_.erase(0, end + 1);
        sound = message.has_value();
        if (message) messages.push_back(*std::move(message));
    }
    if (!sound || received_.size() > longest_line) {
        socket_ = Socket();
        messages.push_back({Message::Kind::lost});
    }
    return messages;
}

void Peer::send(const Message& message) {
    // A node that takes nothing any more is found out by its connection's end.
    if (is_open()) static_cast<void>(send_all(socket_, line_of(message), Clock::now() + 1s));
}

Result<Peer> reach_head(const ControlledStep& step, std::uint32_t node) {
    const Deadline deadline = Clock::now() + longest_handshake;
    auto socket = connect_to(step.head, step.port, deadline);
    if (!socket) return socket.error();
    const auto said = receive_line(*socket, longest_line, deadline);
    const auto invitation = said ? read_greeting(*said, step) : std::nullopt;
    if (!invitation) {
        return refused(step, said ? "another program answers there" : said.error().problem,
                       "give another port with the key port=N");
    }
    // Else who happens to listen there could choose what is to be believed.
    if (invitation->proof != best_proof(step.secret)) {
        return refused(step,
                       formatted("rank 0's node proves itself by '{}', this node by '{}'",
                                 name_of(invitation->proof), name_of(best_proof(step.secret))),
                       "look for a wrapper script that unsets SLURM_DISTGPU_SECRET, or for munged "
                       "that does not run on one of them");
    }
    const auto challenge = draw_secret();
    if (!challenge) return refused(step, "the kernel gives no random numbers", "");
    const auto line = prove(invitation->proof, step.secret, invitation->challenge,
                            formatted("{} {}", node, challenge->to_string()));
    if (!line) return line.error();
    if (auto sent = send_all(*socket, *line + "\n", deadline); !sent) return sent.error();
    const auto answer = receive_line(*socket, longest_line, deadline);
    if (!answer) return refused(step, answer.error().problem, answer.error().remedy);
    if (proven(invitation->proof, step.secret, challenge->to_string(), *answer) != welcome_word) {
        return refused(step, "what answers there is not of this step",
                       "give another port with the key port=N");
    }
    watch(*socket);
    return Peer(*std::move(socket));
}

Head::Head(Socket listener, const ControlledStep& step)
    : listener_(std::move(listener)), step_(step), proof_(best_proof(step.secret)) {}

Result<Head> Head::listen(const ControlledStep& step) {
    return listen_on(step.port).transform(
        [&](Socket listener) { return Head(std::move(listener), step); });
}

void Head::add_to(std::vector<pollfd>& waiting) const {
    waiting.push_back({listener_.fd(), POLLIN, 0});
    for (const Guest& guest : guests_) waiting.push_back({guest.socket.fd(), POLLIN, 0});
}

std::vector<std::pair<std::uint32_t, Peer>> Head::take() {
    // The others wait in the backlog until the next call, so that a flood leaves time between two.
    constexpr int most_at_once = 64;
    for (int i = 0; i < most_at_once && greet_next(); ++i) {
    }
    std::vector<std::pair<std::uint32_t, Peer>> joined;
    for (Guest& guest : guests_) {
        if (auto node = hear(guest)) joined.push_back(*std::move(node));
        if (Clock::now() >= guest.until) guest.socket = Socket();
    }
    const auto gone = [](const Guest& guest) { return !guest.socket.is_open(); };
    guests_.erase(std::remove_if(guests_.begin(), guests_.end(), gone), guests_.end());
    return joined;
}

// False: nobody waits.
bool Head::greet_next() {
    // Fewer than the files that a process may usually have open.
    constexpr std::size_t most_guests = 512;
    auto socket = accept_from(listener_);
    if (!socket) return false;
    const auto challenge = draw_secret();
    if (!challenge) return true;
    Guest guest{*std::move(socket), challenge->to_string(), Clock::now() + longest_handshake};
    const std::string line =
        formatted("{}{} {}\n", greeting(step_), name_of(proof_), guest.challenge);
    // A new connection's buffer takes a line at once.
    if (!send_all(guest.socket, line, Clock::now())) return true;
    // A node answers at once: who has waited longest is the least likely to be one, and a node
    // that is sent away by a flood comes again.
    if (guests_.size() >= most_guests) guests_.pop_front();
    guests_.push_back(std::move(guest));
    return true;
}

// The node whose connection it was; nothing: not yet known, or closed as nobody's of the step.
std::optional<std::pair<std::uint32_t, Peer>> Head::hear(Guest& guest) {
    std::array<char, longest_line> piece{};
    const ssize_t got = recv(guest.socket.fd(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got > 0) guest.received.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = guest.received.find('\n');
    if (got > 0 && end == std::string::npos && guest.received.size() <= longest_line) {
        return std::nullopt;
    }
    Guest heard = std::exchange(guest, Guest{{}, {}, guest.until});
    // A node says no more until it is welcome.
    if (got <= 0 || end + 1 != heard.received.size()) return std::nullopt;
    const auto node = welcome(heard, std::string_view(heard.received).substr(0, end));
    if (!node) return std::nullopt;
    return std::pair(*node, Peer(std::move(heard.socket)));
}

std::optional<std::uint32_t> Head::welcome(const Guest& guest, std::string_view answer) const {
    const auto text = proven(proof_, step_.secret, guest.challenge, answer);
    if (!text) return std::nullopt;
    const std::size_t space = std::min(text->find(' '), text->size() - 1);
    const auto node = number_below(text->substr(0, space), step_.nodes);
    const auto back = Secret::parse(text->substr(space + 1));
    if (!node || *node == 0 || !back) return std::nullopt;
    const auto proof = prove(proof_, step_.secret, back->to_string(), welcome_word);
    if (!proof || !send_all(guest.socket, *proof + "\n", Clock::now())) return std::nullopt;
    watch(guest.socket);
    return *node;
}

}  // namespace distgpu
