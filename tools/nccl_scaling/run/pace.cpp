#include "run/pace.h"

#include <algorithm>

namespace distgpu::scaling {

Pace pace_of(std::uint32_t iterations, bool quick, double minutes) {
    constexpr double rounds_of_soak = 240;
    Pace pace{{iterations}};
    if (quick) {
        pace.loop.at_most = 1;
        pace.end_of_tournament = 120;
        pace.end_of_retest = 160;
    }
    if (minutes > 0) {
        pace.soak = 60 * minutes;
        pace.loop.at_least = pace.soak / rounds_of_soak;
        pace.loop.at_most = std::max(pace.loop.at_most, pace.loop.at_least);
        pace.end_of_tournament = pace.end_of_retest = std::numeric_limits<double>::infinity();
    }
    return pace;
}

bool goes_on(const Pace& pace, double seconds, std::size_t played, std::size_t rounds) {
    if (rounds == 0) return false;
    if (seconds < pace.soak) return true;
    return played < rounds && seconds < pace.end_of_tournament;
}

}  // namespace distgpu::scaling
