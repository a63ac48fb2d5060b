// Numbers with a fraction, as a person writes them.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace distgpu::scaling {

// "12.5", "1e3"; independent of the locale. Nothing: another text, or not finite.
inline std::optional<double> decimal(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace distgpu::scaling
