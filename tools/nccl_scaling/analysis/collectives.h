// Names of the collectives and data types, buffer sizes of a collective, and the bandwidths of a
// measurement.
//
// Algorithm bandwidth = S / t, for a buffer of S bytes. Bus bandwidth is that times a factor that
// depends on the number of ranks n: the least that each rank's link carries. It can be compared
// with the rate of the link, and does not depend on n as long as the links are the bottleneck. S
// and the factors are those of nccl-tests (doc/PERFORMANCE.md and src/*.cu there).
#pragma once

#include "results/results.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace distgpu::scaling {

struct CollectiveInfo {
    Collective collective;
    std::string_view name;               // on the command line and in every output
    double (*bus_factor)(double ranks);  // ranks >= 2
    bool is_reduction;                   // the result is a sum, not a copy
};

struct DataTypeInfo {
    DataType type;
    std::string_view name;  // as in nccl-tests
    std::uint32_t bytes;    // of one element
};

extern const std::array<CollectiveInfo, 6> collectives;
extern const std::array<DataTypeInfo, 3> data_types;

const CollectiveInfo& info_of(Collective collective);
const DataTypeInfo& info_of(DataType type);

// By the exact name; nullopt if there is none with it.
std::optional<Collective> collective_named(std::string_view name);
std::optional<DataType> data_type_named(std::string_view name);

// Sizes of one rank's buffers, in elements. If the elements cannot be divided evenly among the
// ranks, the remainder is left out.
struct BufferSizes {
    std::size_t count = 0;  // argument of the call; 0 if there are fewer elements than ranks
    std::size_t send = 0;
    std::size_t receive = 0;

    bool operator==(const BufferSizes&) const = default;
};
BufferSizes buffer_sizes(const Operation& operation, std::uint32_t ranks);

// Bytes per second, from the median time; nullopt if that is 0.
std::optional<double> algorithm_bandwidth(const Measurement& measurement);

// Bytes per second, from the median time; nullopt if that is 0, or for a group of one rank.
std::optional<double> bus_bandwidth(const Results& results, const Measurement& measurement);

}  // namespace distgpu::scaling
