// How long a run lasts: what --quick and --minutes ask for. Rank 0 decides by its clock, and the
// others hear it before each round.
#pragma once

#include "run/together.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace distgpu::scaling {

struct Pace {
    LoopLength loop;
    // Since the run's begin, in seconds. No round of the tournament begins after the first, no
    // round with the named nodes after the second; the tournament lasts until the third at least.
    double end_of_tournament = std::numeric_limits<double>::infinity();
    double end_of_retest = std::numeric_limits<double>::infinity();
    double soak = 0;

    // Every measurement is to have as many iterations as it needs, not as were asked for.
    bool by_time() const { return loop.at_most < std::numeric_limits<double>::infinity(); }
};

// `minutes`: 0 if they were not asked for; else the run lasts that long, or as long as its parts
// take. Quick without minutes: a run whose rounds take up to 20 s ends within three minutes.
Pace pace_of(std::uint32_t iterations, bool quick, double minutes);

// Whether another round of the tournament is played, of so many in all.
bool goes_on(const Pace& pace, double seconds, std::size_t played, std::size_t rounds);

}  // namespace distgpu::scaling
