// The algorithm bandwidth of a measurement; its bus bandwidth is in analysis/bus_bandwidth.h.
#pragma once

#include "analysis/bus_bandwidth.h"
#include "results.h"

#include <optional>

namespace distgpu::scaling {

// Bytes per second. Nothing: no time was measured.
inline std::optional<double> measured_bandwidth(const Measurement& measurement) {
    if (!(measurement.time.median > 0)) return std::nullopt;
    return algorithm_bandwidth(measurement.bytes, measurement.time.median);
}

}  // namespace distgpu::scaling
