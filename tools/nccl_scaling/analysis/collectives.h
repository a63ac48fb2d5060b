// What each collective and data type is called, which data a collective moves, and the bandwidths
// of a measurement.
//
// algorithm bandwidth = S / t, of a buffer of S bytes. Bus bandwidth is that times a factor of the
// number of ranks n: what each rank's link carries at least, so that it can be held against the
// link's rate and does not depend on n where the links are the limit. S and the factors are those
// of nccl-tests (doc/PERFORMANCE.md and src/*.cu there).
#pragma once

#include "results/results.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace distgpu::scaling {

struct CollectiveRow {
    Collective collective;
    std::string_view name;               // on the command line and in every output
    double (*bus_factor)(double ranks);  // ranks >= 2
    bool reduces;                        // its result is a sum, not a copy
};

struct DataTypeRow {
    DataType type;
    std::string_view name;  // as nccl-tests calls it
    std::uint32_t bytes;    // of one element
};

extern const std::array<CollectiveRow, 6> collectives;
extern const std::array<DataTypeRow, 3> data_types;

const CollectiveRow& row_of(Collective collective);
const DataTypeRow& row_of(DataType type);

// By the exact name. Nothing: none is called so.
std::optional<Collective> collective_named(std::string_view name);
std::optional<DataType> data_type_named(std::string_view name);

// Of the buffers of one rank, in elements. Where the size is no multiple of the ranks, the rest
// that is less than one element for each rank is left out.
struct Extent {
    std::size_t count = 0;  // what the call takes; 0: the size has no element for each rank
    std::size_t send = 0;
    std::size_t receive = 0;

    bool operator==(const Extent&) const = default;
};
Extent extent_of(const Subject& subject, std::uint32_t ranks);

// Bytes per second, from the median time. Nothing: no time was measured.
std::optional<double> algorithm_bandwidth(const Measurement& measurement);

// Bytes per second, from the median time. Nothing: a group of one rank, or no time was measured.
std::optional<double> bus_bandwidth(const Results& results, const Measurement& measurement);

}  // namespace distgpu::scaling
