// Quantities as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu::scaling {

// "8 B", "64 KiB", "1.5 GiB": the largest power of 1024 that leaves at least 1, up to two decimals.
std::string format_bytes(std::uint64_t bytes);

// "12.34": GB/s of 1e9 bytes, as nccl-tests counts, from bytes per second; "n/a" of nothing.
std::string format_bandwidth(std::optional<double> bytes_per_second);

// "94.2 %" from 0.942.
std::string format_percent(double fraction);

}  // namespace distgpu::scaling
