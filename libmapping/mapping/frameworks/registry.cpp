// The list of frameworks as data, the search in it, and the name that a user knows one by.
#include "mapping/frameworks/registry.h"

#include "base/format.h"
#include "mapping/request/request.h"

#include <array>

namespace distgpu {

std::span<const Framework* const> frameworks() {
#define DISTGPU_ADDRESS(name) &(name),
    static constexpr std::array all{DISTGPU_FRAMEWORKS(DISTGPU_ADDRESS)};
#undef DISTGPU_ADDRESS
    return all;
}

const Framework* find_framework(std::string_view word) {
    for (const Framework* framework : frameworks()) {
        if (framework->mode == word) return framework;
        for (const std::string_view alias : framework->aliases) {
            if (alias == word) return framework;
        }
    }
    return nullptr;
}

std::string option_of(const Request& request) {
    return formatted("--distgpu={}", request.mode.empty() ? request.framework->mode : request.mode);
}

}  // namespace distgpu
