// See rendezvous_address.h.
#include "mapping/plan/rendezvous_address.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/plan/ranks.h"
#include "mapping/spec/request.h"

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

std::optional<Error> misleading_address(const StepView& step, const RendezvousFacts& facts) {
    const std::optional<Master>& master = step.request.master;
    const bool by_key = master && master->form == Master::Form::host;
    const bool exported = !master && facts.exported_address;
    const bool meets = step.request.framework->ports > 0;
    if (!meets || step.layout.node_count() == 1 || !(by_key || exported)) return std::nullopt;
    const std::string& host = by_key ? master->text : *facts.exported_address;
    std::string object = formatted("{}={}", by_key ? "master" : "MASTER_ADDR", excerpt(host));
    std::string remedy = by_key ? "leave master= out" : "unset MASTER_ADDR";
    if (is_loopback(host)) {
        return Error{std::move(object),
                     formatted("each of the step's {} nodes would look for rank 0 on itself",
                               step.layout.node_count()),
                     std::move(remedy)};
    }
    if (!is_of_another_node(step, facts, host)) return std::nullopt;
    return Error{std::move(object),
                 formatted("rank 0 runs on {}", step.layout.hosts().name(rank0_node(step.layout))),
                 std::move(remedy)};
}

}  // namespace distgpu
