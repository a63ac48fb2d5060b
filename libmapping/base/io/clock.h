// The time of day, as results have it: as text, and as a number.
#pragma once

#include <array>
#include <chrono>
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

inline double seconds_since_1970() {
    using Seconds = std::chrono::duration<double>;
    return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace distgpu
