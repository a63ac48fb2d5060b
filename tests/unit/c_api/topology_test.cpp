// The topology of mapping.h.
#include "c_api_testing.h"
#include "mapping/binding/two_socket_node.h"
#include "mapping/topology/topology_json.h"

#include <optional>

namespace distgpu::c_api_testing {
namespace {

Refused refused_topology(const char* json) {
    return refused<distgpu_topology>(
        [&](auto** object, auto* error) { return distgpu_topology_create(json, object, error); });
}

TEST(CApiTopology, CountsTheGpus) {
    const std::string json = to_json(two_socket_node({0, 0, 2}), std::nullopt);
    const auto topology = made<distgpu_topology>([&](auto** object, auto* error) {
        return distgpu_topology_create(json.c_str(), object, error);
    });
    EXPECT_EQ(distgpu_topology_gpu_count(topology.get()), 3U);
    EXPECT_EQ(distgpu_topology_gpu_count(nullptr), 0U);
}

TEST(CApiTopology, RefusesWhatIsNone) {
    EXPECT_EQ(refused_topology(R"({"schema": "distgpu.plan/1"})"),
              (Refused{DISTGPU_EINVAL,
                       "distgpu: topology: \"schema\": not distgpu.topo/1; write it again with "
                       "distgpu topo"}));
    EXPECT_EQ(refused_topology(nullptr),
              (Refused{DISTGPU_EINVAL, "distgpu: json: is NULL; see distgpu/mapping.h"}));
    distgpu_topology_destroy(nullptr);
}

}  // namespace
}  // namespace distgpu::c_api_testing
