#include "plugin_order.h"

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace distgpu {
namespace {

// One walk over the objects of this process, which are listed in the order of their loading.
struct Walk {
    std::string_view sought;
    bool own_seen = false;
    bool sought_after_own = false;
};

bool holds(const dl_phdr_info& object, const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const auto& segment = object.dlpi_phdr[i];
        const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && at >= begin && at < begin + segment.p_memsz) return true;
    }
    return false;
}

int visit(dl_phdr_info* object, std::size_t /*size*/, void* data) {
    auto& walk = *static_cast<Walk*>(data);
    const std::string_view path = object->dlpi_name;
    if (walk.own_seen && path.substr(path.rfind('/') + 1) == walk.sought) {
        walk.sought_after_own = true;
    }
    static const char own = 0;  // lies in this plugin
    if (holds(*object, &own)) walk.own_seen = true;
    return 0;
}

}  // namespace

bool stands_before(std::string_view file_name) {
    Walk walk{file_name};
    dl_iterate_phdr(visit, &walk);
    return walk.sought_after_own;
}

}  // namespace distgpu
