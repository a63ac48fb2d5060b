#define FMT_HEADER_ONLY 1  // fmt's own code is compiled into this file, and into no other
#include "base/format.h"

#include <fmt/format.h>

namespace distgpu {

std::string formatted_by(fmt::string_view text, fmt::format_args arguments) {
    return fmt::vformat(text, arguments);
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return formatted("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace distgpu
