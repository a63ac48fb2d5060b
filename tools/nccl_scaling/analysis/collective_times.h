// The time of a collective on one group for any size, from the sizes that were measured.
#pragma once

#include "results.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace distgpu::scaling {

class CollectiveTimes {
  public:
    // All types and placements together: the time follows from the bytes. Nothing: not measured.
    static std::optional<CollectiveTimes> of(const Results& results, std::size_t group,
                                             Collective collective);

    // Seconds. Between two sizes on the line that joins them (a protocol's own alpha and beta);
    // below the smallest its time, which is latency; above the largest at its bandwidth.
    double at(double bytes) const;

  private:
    struct Point {
        double bytes;
        double seconds;
    };

    explicit CollectiveTimes(std::vector<Point> points) : points_(std::move(points)) {}

    std::vector<Point> points_;  // by ascending size, not empty
};

}  // namespace distgpu::scaling
