// Piecewise linear interpolation.
#include "analysis/collective_times.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace distgpu::scaling {

std::optional<CollectiveTimes> CollectiveTimes::of(const Results& results, std::size_t group,
                                                   Collective collective) {
    std::map<std::uint64_t, std::vector<double>> of_size;
    for (const auto& measurement : results.measurements) {
        if (measurement.group != group || measurement.collective != collective) continue;
        of_size[measurement.bytes].push_back(measurement.time.median);
    }
    if (of_size.empty()) return std::nullopt;
    std::vector<Point> points;
    points.reserve(of_size.size());
    for (auto& [bytes, seconds] : of_size) {
        points.push_back({static_cast<double>(bytes), median(std::move(seconds))});
    }
    return CollectiveTimes(std::move(points));
}

double CollectiveTimes::at(double bytes) const {
    const auto above = std::find_if(points_.begin(), points_.end(),
                                    [&](const Point& point) { return point.bytes >= bytes; });
    if (above == points_.begin()) return above->seconds;
    const auto& below = *(above - 1);
    if (above == points_.end()) return below.seconds * bytes / below.bytes;
    const double share = (bytes - below.bytes) / (above->bytes - below.bytes);
    return std::lerp(below.seconds, above->seconds, share);
}

}  // namespace distgpu::scaling
