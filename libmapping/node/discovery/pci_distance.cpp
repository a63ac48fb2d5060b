#include "node/discovery/pci_distance.h"

#include <algorithm>
#include <vector>

namespace distgpu::discovery {
namespace {

bool is_host_bridge(hwloc_obj_t object) {
    return object->type == HWLOC_OBJ_BRIDGE &&
           object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

// The I/O objects from `object` up to its host bridge.
std::vector<hwloc_obj_t> io_path(hwloc_obj_t object) {
    std::vector<hwloc_obj_t> path;
    for (; object != nullptr && hwloc_obj_type_is_io(object->type); object = object->parent) {
        path.push_back(object);
    }
    return path;
}

}  // namespace

Distance pci_distance(hwloc_topology_t topology, hwloc_obj_t left, hwloc_obj_t right) {
    const auto left_path = io_path(left);
    const auto right_path = io_path(right);
    const auto left_common = std::find_first_of(left_path.begin(), left_path.end(),
                                                right_path.begin(), right_path.end());
    if (left_common == left_path.end()) {
        hwloc_obj* const left_place = hwloc_get_non_io_ancestor_obj(topology, left);
        hwloc_obj* const right_place = hwloc_get_non_io_ancestor_obj(topology, right);
        return hwloc_bitmap_isequal(left_place->nodeset, right_place->nodeset) ? Distance::node
                                                                               : Distance::sys;
    }
    if (is_host_bridge(*left_common)) return Distance::phb;
    const auto right_common = std::find(right_path.begin(), right_path.end(), *left_common);
    const auto is_bridge = [](hwloc_obj_t object) { return object->type == HWLOC_OBJ_BRIDGE; };
    const auto most = std::max(std::count_if(left_path.begin(), left_common, is_bridge),
                               std::count_if(right_path.begin(), right_common, is_bridge));
    return most > 1 ? Distance::pxb : Distance::pix;
}

}  // namespace distgpu::discovery
