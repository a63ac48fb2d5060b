// Rank 0's part in the network trial: sends every node its partners, starts the rounds, and
// collects the results. Also encodes and decodes the lines that rank 0 and the nodes send each
// other.
#include "check/pairs/network_trial.h"

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

// Of the kernel's error on a connection, or of an address.
constexpr std::size_t max_field_length = 200;

using namespace std::chrono_literals;

constexpr auto stream_time = 200ms;  // in one round
constexpr auto max_round_time = 300ms;
constexpr auto connect_timeout = 2500ms;  // a node gives up after 2 s
constexpr auto send_timeout = 1s;
constexpr auto close_timeout = 500ms;

using Members = std::vector<TrialMember*>;

TrialOrder order_for(const Members& members, std::uint32_t place, const std::string& key) {
    const auto partner = [&](std::uint32_t other) {
        return TrialPartner{members[other]->node, *members[other]->address, members[other]->more};
    };
    TrialOrder order{
        members[place]->node, key, {}, {}, static_cast<std::uint32_t>(stream_time.count())};
    for (const PairRound& round : pair_rounds(place, static_cast<std::uint32_t>(members.size()))) {
        order.to.push_back(partner(round.to));
        order.from.push_back(partner(round.from));
    }
    return order;
}

// The first line with this prefix among those that have arrived, without the prefix.
std::optional<std::string> arrived_line(NodeLink& link, std::string_view prefix) {
    while (const auto line = link.next_line()) {
        if (line->starts_with(prefix)) return line->substr(prefix.size());
    }
    return std::nullopt;
}

// From each member the line with this prefix, without the prefix; nullopt for a member that sent
// none by the deadline.
std::vector<std::optional<std::string>> collect(const Members& members, std::string_view prefix,
                                                Deadline deadline) {
    std::vector<std::optional<std::string>> lines(members.size());
    for (;;) {
        std::vector<pollfd> waiting;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < members.size(); ++i) {
            NodeLink& link = members[i]->link;
            if (!lines[i]) lines[i] = arrived_line(link, prefix);
            if (lines[i] || !link.is_open()) continue;
            waiting.push_back({link.fd(), POLLIN, 0});
            places.push_back(i);
        }
        if (waiting.empty() || Clock::now() >= deadline) return lines;
        if (poll_until(waiting, deadline) <= 0) continue;
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (waiting[i].revents != 0) members[places[i]]->link.receive_available();
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
struct JsonString<TrialAddress> {
    static std::string text(const TrialAddress& address) { return to_text(address); }
    static std::optional<TrialAddress> parse(std::string_view text) {
        return parse_trial_address(text);
    }
};

std::string encode(const TrialOrder& order) {
    return fields_json(order).line();
}

std::optional<TrialOrder> decode_order(std::string_view line) {
    return read_fields<TrialOrder>(line, max_field_length);
}

std::string encode(const TrialResult& result) {
    return fields_json(result).line();
}

std::optional<TrialResult> decode_result(std::string_view line) {
    return read_fields<TrialResult>(line, max_field_length);
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

std::vector<TrialResult> run_network_trial(std::vector<TrialMember>& members) {
    Members participants;
    for (TrialMember& member : members) {
        if (member.address) participants.push_back(&member);
    }
    const auto key = draw_secret();
    if (participants.size() < 2 || !key) return {};
    const auto count = static_cast<std::uint32_t>(participants.size());
    for (std::uint32_t place = 0; place < count; ++place) {
        const std::string order = encode(order_for(participants, place, key->to_string()));
        participants[place]->link.send(std::string(trial_prefix::order) + order,
                                       Clock::now() + send_timeout);
    }
    collect(participants, trial_prefix::connected, Clock::now() + connect_timeout);
    for (TrialMember* member : participants) {
        member->link.send(trial_prefix::start, Clock::now() + send_timeout);
    }
    const auto rounds = pair_rounds(0, count).size();
    const auto lines = collect(participants, trial_prefix::result,
                               Clock::now() + rounds * max_round_time + std::chrono::seconds(1));
    std::vector<TrialResult> results;
    for (std::size_t i = 0; i < participants.size(); ++i) {
        auto result = lines[i] ? decode_result(*lines[i]) : std::nullopt;
        // A node reports only its own result.
        if (result && result->node == participants[i]->node) results.push_back(*std::move(result));
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
        if (const auto rank = whole_number(cut_until(text, ' '))) ranks.insert(*rank);
    }
    return ranks;
}

SilentRanks find_silent_ranks(std::vector<TrialMember>& members, std::uint32_t own_node,
                              const std::function<std::set<std::uint32_t>()>& ask_own_node) {
    const Deadline deadline = Clock::now() + max_question_time;
    Members asked;
    for (TrialMember& member : members) {
        if (member.node == own_node) continue;
        member.link.send(trial_prefix::question, Clock::now() + send_timeout);
        asked.push_back(&member);
    }
    SilentRanks silent{{}, ask_own_node()};
    const auto lines = collect(asked, trial_prefix::answer, deadline);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (lines[i]) {
            silent.ranks.merge(parse_silent_ranks(*lines[i]));
        } else {
            silent.nodes.insert(asked[i]->node);
        }
    }
    return silent;
}

void send_verdict(std::vector<TrialMember>& members, int exit_status) {
    const std::string line = formatted("{}{}", trial_prefix::verdict, exit_status);
    Members recipients;
    for (TrialMember& member : members) {
        if (member.link.send(line, Clock::now() + send_timeout)) recipients.push_back(&member);
    }
    // No member sends this, so it waits until all have closed their links.
    collect(recipients, "nothing more", Clock::now() + close_timeout);
}

}  // namespace distgpu
