// Numbers of things in messages and tables.
#pragma once

#include "base/format.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace distgpu::scaling {

// "1 node", "4 nodes".
inline std::string counted(std::uint64_t count, std::string_view noun) {
    return formatted("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace distgpu::scaling
