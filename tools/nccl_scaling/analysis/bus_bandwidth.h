// What each collective and data type is called, and the bandwidths of a measurement.
//
// algorithm bandwidth = S / t, of a buffer of S bytes. Bus bandwidth is that times a factor of the
// number of ranks n: what each rank's link carries at least, so that it can be held against the
// link's rate and does not depend on n where the links are the limit. S and the factors are those
// of nccl-tests (doc/PERFORMANCE.md and src/*.cu there), which has no all-to-all-v and no
// bisection.
#pragma once

#include "results/results.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace distgpu::scaling {

struct CollectiveRow {
    Collective collective;
    std::string_view name;               // on the command line and in every output
    double (*bus_factor)(double ranks);  // ranks >= 2
    bool reduces;                        // its result is computed, not copied
    bool by_default;                     // measured where nothing else is asked for
};

struct DataTypeRow {
    DataType type;
    std::string_view name;     // as nccl-tests calls it
    std::uint32_t bytes;       // of one element
    std::string_view needs{};  // what not every run has; empty: nothing
};

struct OpRow {
    Op op;
    std::string_view name;  // as nccl-tests calls it
};

extern const std::array<CollectiveRow, 11> collectives;
extern const std::array<DataTypeRow, 9> data_types;
extern const std::array<OpRow, 5> ops;

const CollectiveRow& row_of(Collective collective);
const DataTypeRow& row_of(DataType type);
const OpRow& row_of(Op op);

bool is_reduction(Collective collective);

// "none", as nccl-tests has it, of what is only copied.
std::string_view op_name(Collective collective, Op op);

// By the exact name. Nothing: none is called so.
std::optional<Collective> collective_named(std::string_view name);
std::optional<DataType> data_type_named(std::string_view name);
std::optional<Op> op_named(std::string_view name);

// Bytes per second, from the median time. Nothing: no time was measured.
std::optional<double> algorithm_bandwidth(const Measurement& measurement);

// Nothing: one rank, which has no link to another.
std::optional<double> bus_factor(Collective collective, std::uint32_t ranks);

// Bytes per second, from the median time. Nothing: a group of one rank, or no time was measured.
std::optional<double> bus_bandwidth(const Results& results, const Measurement& measurement);

}  // namespace distgpu::scaling
