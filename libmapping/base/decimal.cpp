// Keeps std::from_chars for double, which only decimal() calls, out of the plugin: with it,
// libstdc++ would set up its memory resources in each process of a step that uses distgpu.
#include "base/values.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace distgpu {

std::optional<double> decimal(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace distgpu
