#include "node/address_check.h"

#include "base/format.h"
#include "base/io/name_lookup.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/ranks.h"
#include "mapping/plan/rendezvous_address.h"
#include "node/machine.h"
#include "node/network_interface.h"

#include <algorithm>
#include <string>
#include <utility>

namespace distgpu {
namespace {

// A launcher's processes look for each other also where it is the only one.
bool has_others(const Request& request, const StepLayout& layout) {
    return layout.task_count() > 1 || request.framework->launcher_per_node;
}

// What Slurm or the machine itself calls this node.
bool is_own_name(const std::string& host, const std::string& node, const RendezvousFacts& facts) {
    return host == node || host == facts.rank0_address || host == host_name() ||
           host == short_host_name();
}

}  // namespace

std::optional<Error> check_address(const Request& request, const StepLayout& layout,
                                   const RendezvousFacts& facts, std::vector<Error>& warnings) {
    auto chosen = chosen_address(request, facts);
    const std::string& node = layout.hosts().name(rank0_node(layout));
    if (!chosen || !has_others(request, layout) || is_own_name(chosen->host, node, facts)) {
        return std::nullopt;
    }
    const NameLookup lookup = look_up_name(chosen->host, Clock::now() + name_patience);
    if (lookup.outcome == NameLookup::Outcome::unanswered) {
        warnings.push_back(
            {std::move(chosen->object),
             formatted("{}, where rank 0 runs, could not look it up", node),
             formatted("{}, unless it is a name of {}", std::move(chosen->remedy), node)});
        return std::nullopt;
    }
    if (std::any_of(lookup.addresses.begin(), lookup.addresses.end(), is_own_address)) {
        return std::nullopt;
    }
    const bool is_unknown = lookup.outcome == NameLookup::Outcome::unknown;
    const char* const problem = is_unknown ? "an unknown name on" : "not an address of";
    return Error{std::move(chosen->object), formatted("{} {}, where rank 0 runs", problem, node),
                 std::move(chosen->remedy)};
}

}  // namespace distgpu
