// Rank 0's part in the trial of the network: it tells every node its partners, lets all rounds
// begin at once, and collects what the nodes measured. The lines in which they say so are here too.
#include "check/pairs/trial.h"

#include "base/format.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "node/network.h"
#include "node/step_variables.h"

#include <algorithm>
#include <cstddef>
#include <poll.h>
#include <utility>

namespace distgpu {
namespace {

constexpr std::size_t longest_problem = 200;  // the kernel's on a connection, or an address

using namespace std::chrono_literals;

constexpr auto stream = 200ms;  // of one round
constexpr auto longest_round = 300ms;
constexpr auto to_connect = 2500ms;  // a node gives up after 2 s
constexpr auto to_send = 1s;
constexpr auto to_close = 500ms;

// Those that take part.
using Members = std::vector<TrialMember*>;

TrialOrder order_for(const Members& members, std::uint32_t place, const std::string& key) {
    const auto partner = [&](std::uint32_t other) {
        return TrialPartner{members[other]->node, *members[other]->address};
    };
    TrialOrder order{members[place]->node, key, {}, {}, static_cast<std::uint32_t>(stream.count())};
    for (const PairRound& round : pair_rounds(place, static_cast<std::uint32_t>(members.size()))) {
        order.to.push_back(partner(round.to));
        order.from.push_back(partner(round.from));
    }
    return order;
}

// The line that begins with this word, without it, of those that have come.
std::optional<std::string> arrived_line(NodeLink& link, std::string_view word) {
    while (const auto line = link.next_line()) {
        if (line->starts_with(word)) return line->substr(word.size());
    }
    return std::nullopt;
}

// From each member the line that begins with this word, without it; nothing where none came by the
// deadline.
std::vector<std::optional<std::string>> collect(const Members& members, std::string_view word,
                                                Deadline deadline) {
    std::vector<std::optional<std::string>> lines(members.size());
    for (;;) {
        std::vector<pollfd> waiting;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < members.size(); ++i) {
            NodeLink& link = members[i]->link;
            if (!lines[i]) lines[i] = arrived_line(link, word);
            if (lines[i] || !link.is_open()) continue;
            waiting.push_back({link.fd(), POLLIN, 0});
            places.push_back(i);
        }
        if (waiting.empty() || Clock::now() >= deadline) return lines;
        if (poll_until(waiting, deadline) <= 0) continue;
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (waiting[i].revents != 0) members[places[i]]->link.take_arrived();
        }
    }
}

}  // namespace

std::string to_text(const TrialAddress& address) {
    return host_and_port(address.host, address.port);
}

std::optional<TrialAddress> parse_trial_address(std::string_view text) {
    const auto address = split_host_and_port(text);
    if (!address || !is_ip_address(std::string(address->host))) return std::nullopt;
    return TrialAddress{std::string(address->host), address->port};
}

template <>
struct JsonWord<TrialAddress> {
    static std::string text(const TrialAddress& address) { return to_text(address); }
    static std::optional<TrialAddress> parse(std::string_view text) {
        return parse_trial_address(text);
    }
};

std::string encode(const TrialOrder& order) {
    return fields_json(order).line();
}

std::optional<TrialOrder> decode_order(std::string_view line) {
    return read_fields<TrialOrder>(line, longest_problem);
}

std::string encode(const TrialResult& result) {
    return fields_json(result).line();
}

std::optional<TrialResult> decode_result(std::string_view line) {
    return read_fields<TrialResult>(line, longest_problem);
}

std::vector<PairRound> pair_rounds(std::uint32_t place, std::uint32_t nodes) {
    std::vector<PairRound> rounds;
    for (std::uint64_t distance = 1; distance < nodes; distance *= 2) {
        const std::uint64_t to = (place + distance) % nodes;
        const std::uint64_t from = (std::uint64_t{place} + nodes - distance) % nodes;
        rounds.push_back({static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(from)});
    }
    return rounds;
}

std::vector<TrialResult> try_network(std::vector<TrialMember>& members) {
    Members taking_part;
    for (TrialMember& member : members) {
        if (member.address) taking_part.push_back(&member);
    }
    const auto key = draw_secret();
    if (taking_part.size() < 2 || !key) return {};
    const auto count = static_cast<std::uint32_t>(taking_part.size());
    for (std::uint32_t place = 0; place < count; ++place) {
        const std::string order = encode(order_for(taking_part, place, key->to_string()));
        taking_part[place]->link.send(std::string(trial_words::order) + order,
                                      Clock::now() + to_send);
    }
    collect(taking_part, trial_words::connected, Clock::now() + to_connect);
    for (TrialMember* member : taking_part) {
        member->link.send(trial_words::start, Clock::now() + to_send);
    }
    const auto rounds = pair_rounds(0, count).size();
    const auto lines = collect(taking_part, trial_words::result,
                               Clock::now() + rounds * longest_round + std::chrono::seconds(1));
    std::vector<TrialResult> results;
    for (std::size_t i = 0; i < taking_part.size(); ++i) {
        auto result = lines[i] ? decode_result(*lines[i]) : std::nullopt;
        // A node speaks for itself.
        if (result && result->node == taking_part[i]->node) results.push_back(*std::move(result));
    }
    return results;
}

std::string silent_ranks_text(const std::set<std::uint32_t>& ranks) {
    std::string text;
    for (const std::uint32_t rank : ranks) text += formatted(" {}", rank);
    return text;
}

std::set<std::uint32_t> parse_silent_ranks(std::string_view text) {
    std::set<std::uint32_t> ranks;
    while (!text.empty()) {
        if (const auto rank = whole_number(take_until(text, ' '))) ranks.insert(*rank);
    }
    return ranks;
}

Silence ask_members(std::vector<TrialMember>& members, std::uint32_t own_node,
                    const std::function<std::set<std::uint32_t>()>& ask_own) {
    const Deadline deadline = Clock::now() + longest_question;
    Members asked;
    for (TrialMember& member : members) {
        if (member.node == own_node) continue;
        member.link.send(trial_words::question, Clock::now() + to_send);
        asked.push_back(&member);
    }
    Silence silence{{}, ask_own()};
    const auto lines = collect(asked, trial_words::answer, deadline);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (lines[i]) {
            silence.ranks.merge(parse_silent_ranks(*lines[i]));
        } else {
            silence.nodes.insert(asked[i]->node);
        }
    }
    return silence;
}

void tell_verdict(std::vector<TrialMember>& members, int exit_status) {
    const std::string line = formatted("{}{}", trial_words::verdict, exit_status);
    Members told;
    for (TrialMember& member : members) {
        if (member.link.send(line, Clock::now() + to_send)) told.push_back(&member);
    }
    collect(told, "nothing more", Clock::now() + to_close);
}

}  // namespace distgpu
