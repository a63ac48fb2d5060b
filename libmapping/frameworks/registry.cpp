// The list of frameworks. Adding one: its file here, its declaration in
// registry.h, its row below.
#include "frameworks/registry.h"

#include <array>

namespace distgpu {

std::span<const Framework* const> frameworks() {
    static constexpr std::array all{
        &pytorch,
        &torchrun,
    };
    return all;
}

const Framework* find_framework(std::string_view mode) {
    for (const Framework* framework : frameworks()) {
        if (framework->mode == mode) return framework;
    }
    return nullptr;
}

}  // namespace distgpu
