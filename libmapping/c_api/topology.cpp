// The topology of mapping.h.
#include "c_api/objects.h"
#include "c_api/status.h"
#include "mapping/topology/topology_json.h"

using namespace distgpu;

distgpu_status distgpu_topology_create(const char* json, distgpu_topology** topology,
                                       distgpu_error* error) {
    return c_api::create("topology", topology, error, [&]() -> c_api::Made<distgpu_topology> {
        if (json == nullptr) return tl::unexpected(c_api::missing("json"));
        auto parsed = parse_topology("topology", json);
        if (!parsed) return c_api::fail(DISTGPU_EINVAL, parsed.error());
        return std::make_unique<distgpu_topology>(distgpu_topology{std::move(parsed->topology)});
    });
}

void distgpu_topology_destroy(distgpu_topology* topology) {
    delete topology;
}

std::uint32_t distgpu_topology_gpu_count(const distgpu_topology* topology) {
    return topology == nullptr ? 0 : static_cast<std::uint32_t>(topology->value.gpus.size());
}
