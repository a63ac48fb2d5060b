// The time of day, as results have it.
#pragma once

#include <array>
#include <ctime>
#include <string>

namespace distgpu {

// "2026-01-01T00:00:00Z".
inline std::string utc_time() {
    const std::time_t seconds = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::array<char, sizeof "2026-01-01T00:00:00Z"> text{};
    static_cast<void>(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
    return text.data();
}

}  // namespace distgpu
