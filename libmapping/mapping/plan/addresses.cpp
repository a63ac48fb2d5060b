#include "mapping/plan/addresses.h"

#include "mapping/frameworks/framework.h"
#include "mapping/plan/ranks.h"

#include <vector>

namespace distgpu {

HostList addresses_of_nodes(const Request& request, const Step& step,
                            const std::string& rank0_address) {
    if (!request.framework->names_all_nodes) return {};
    const StepLayout& layout = step.layout;
    const HostList& known = step.facts.node_addresses;
    std::vector<std::string> addresses;
    addresses.reserve(layout.node_count());
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        addresses.push_back(reachable_as(request, step.rendezvous, layout.hosts().name(node),
                                         known.empty() ? std::string{} : known.name(node)));
    }
    if (!rank0_address.empty()) addresses[rank0_node(layout).value] = rank0_address;
    return HostList::from_names(addresses);
}

}  // namespace distgpu
