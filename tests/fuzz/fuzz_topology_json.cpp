// distgpu.topo/1: an administrator's file, or what `distgpu topo` printed, to the plan of a step.
#include "mapping/topology/topology_json.h"
#include "require.h"
#include "target.h"
#include "topology_promises.h"

namespace distgpu {

void try_text(std::string_view text) {
    const auto saved = parse_topology("FILE", text);
    if (!saved) return require_line(saved.error().message());
    const auto again = parse_topology("FILE", to_json(saved->topology, saved->machine));
    require(again && *again == *saved, "what is written is read back");
    require_plans_on(saved->topology);
}

}  // namespace distgpu
