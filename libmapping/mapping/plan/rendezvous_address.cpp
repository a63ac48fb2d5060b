#include "mapping/plan/rendezvous_address.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/plan/ranks.h"
#include "mapping/request/request.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

// What every node takes for itself; to connect to 0.0.0.0 or :: is to connect to the loopback.
bool is_loopback(std::string_view host) {
    constexpr std::array<std::string_view, 7> names{
        "localhost", "localhost.localdomain", "localhost6", "ip6-localhost",
        "::1",       "0:0:0:0:0:0:0:1",       "::"};
    const bool number = host.find_first_not_of("0123456789.") == std::string_view::npos;
    return std::find(names.begin(), names.end(), host) != names.end() ||
           (number && (host.starts_with("127.") || host == "0.0.0.0"));
}

bool is_of_another_node(const StepView& step, const RendezvousFacts& facts, std::string_view host) {
    const HostList& nodes = step.layout.hosts();
    const HostList& addresses = step.facts.node_addresses;
    const NodeIndex rank0 = rank0_node(step.layout);
    if (host == facts.rank0_address || host == nodes.name(rank0)) return false;
    // Several nodes of one machine can have one address.
    if (!addresses.empty() && host == addresses.name(rank0)) return false;
    return nodes.find(host).has_value() || addresses.find(host).has_value();
}

}  // namespace

std::optional<ChosenAddress> chosen_address(const Request& request, const RendezvousFacts& facts) {
    const std::optional<Master>& master = request.master;
    const bool by_key = master && master->form == Master::Form::host;
    const bool exported = !master && facts.exported_address;
    const bool meets = request.framework->ports > 0;
    if (!meets || !(by_key || exported)) return std::nullopt;
    const std::string& host = by_key ? master->text : *facts.exported_address;
    return ChosenAddress{host, formatted("{}={}", by_key ? "master" : "MASTER_ADDR", excerpt(host)),
                         by_key ? "leave master= out" : "unset MASTER_ADDR"};
}

std::optional<Error> misleading_address(const StepView& step, const RendezvousFacts& facts) {
    auto chosen = chosen_address(step.request, facts);
    auto problem = chosen ? wrong_host(step, facts, chosen->host) : std::nullopt;
    if (!problem) return std::nullopt;
    return Error{std::move(chosen->object), *std::move(problem), std::move(chosen->remedy)};
}

std::optional<std::string> wrong_host(const StepView& step, const RendezvousFacts& facts,
                                      std::string_view host) {
    if (step.layout.node_count() == 1) return std::nullopt;
    if (is_loopback(host)) {
        return formatted("each of the step's {} nodes would look for rank 0 on itself",
                         step.layout.node_count());
    }
    if (!is_of_another_node(step, facts, host)) return std::nullopt;
    return formatted("rank 0 runs on {}", step.layout.hosts().name(rank0_node(step.layout)));
}

}  // namespace distgpu
