#include "check/pairs/trial.h"

#include "base/excerpt.h"
#include "base/json_fields.h"
#include "base/json_text.h"
#include "base/values.h"
#include "node/network_interface.h"

#include <cstddef>
#include <utility>

namespace distgpu {
namespace {

JsonText partner_json(const TrialPartner& partner) {
    return {{"node", partner.node}, {"address", to_text(partner.address)}};
}

TrialPartner read_partner(const JsonFields& fields) {
    return {fields.count<std::uint32_t>("node"), fields.named("address", parse_trial_address)};
}

JsonText sent_json(const SentTo& sent) {
    return {{"node", sent.node}, {"problem", sent.problem}, {"round_trip", sent.round_trip}};
}

SentTo read_sent(const JsonFields& fields) {
    constexpr std::size_t longest = 200;
    return {fields.count<std::uint32_t>("node"),
            printable(fields.text("problem").substr(0, longest)), fields.number("round_trip")};
}

JsonText heard_json(const HeardFrom& heard) {
    return {{"node", heard.node}, {"rate", heard.rate}};
}

HeardFrom read_heard(const JsonFields& fields) {
    return {fields.count<std::uint32_t>("node"), fields.number("rate")};
}

TrialOrder read_order(const JsonFields& fields) {
    return {fields.count<std::uint32_t>("node"), fields.text("key"),
            fields.objects("to", read_partner), fields.objects("from", read_partner),
            fields.count<std::uint32_t>("stream")};
}

TrialResult read_result(const JsonFields& fields) {
    TrialResult result{fields.count<std::uint32_t>("node"),
                       fields.objects("sent", read_sent),
                       fields.objects("heard", read_heard),
                       {}};
    for (const JsonValue& node : fields.list("datagrams")) {
        result.datagrams.push_back(static_cast<std::uint32_t>(node.whole().value_or(0)));
    }
    return result;
}

template <class Value>
std::optional<Value> decode(std::string_view line, Value (*read)(const JsonFields&)) {
    Value value;
    const auto problem = read_json(line, [&](const JsonFields& fields) { value = read(fields); });
    return problem ? std::nullopt : std::optional(std::move(value));
}

}  // namespace

std::string to_text(const TrialAddress& address) {
    return host_and_port(address.host, address.port);
}

std::optional<TrialAddress> parse_trial_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    constexpr std::size_t ports = 65'536;
    const auto port = number_below(text.substr(colon + 1), ports);
    std::string_view host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    if (!port || !is_ip_address(std::string(host))) return std::nullopt;
    return TrialAddress{std::string(host), static_cast<std::uint16_t>(*port)};
}

std::string encode(const TrialOrder& order) {
    return JsonText{{"node", order.node},
                    {"key", order.key},
                    {"to", JsonText::list(order.to, partner_json)},
                    {"from", JsonText::list(order.from, partner_json)},
                    {"stream", order.stream}}
        .line();
}

std::optional<TrialOrder> decode_order(std::string_view line) {
    return decode(line, read_order);
}

std::string encode(const TrialResult& result) {
    return JsonText{{"node", result.node},
                    {"sent", JsonText::list(result.sent, sent_json)},
                    {"heard", JsonText::list(result.heard, heard_json)},
                    {"datagrams", JsonText::list(result.datagrams)}}
        .line();
}

std::optional<TrialResult> decode_result(std::string_view line) {
    return decode(line, read_result);
}

}  // namespace distgpu
