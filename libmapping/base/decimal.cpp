// decimal() of base/values.h, in a file of its own, because libstdc++'s std::from_chars for double
// prepares memory resources in each process that loads it, and the plugin does not need it.
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
