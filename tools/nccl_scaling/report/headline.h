// What the last line says of the whole run: the bus bandwidth of all nodes at the largest size.
#pragma once

#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace distgpu::scaling {

// What this fabric should give, and who says so.
struct ExpectedBandwidth {
    double busbw = 0;    // bytes per second
    std::string source;  // "--expect", "the baseline", "published figures"

    bool operator==(const ExpectedBandwidth&) const = default;
};

struct Headline {
    std::size_t measurement = 0;       // index into Results::measurements
    double busbw = 0;                  // bytes per second
    std::optional<double> efficiency;  // of the fewest nodes' busbw; nothing: they are all nodes
    std::uint32_t baseline_nodes = 0;
    std::optional<ExpectedBandwidth> expected;
};

// Of the first collective, the largest size, out of place where that was measured. Nothing: all
// nodes together measured no bandwidth.
std::optional<std::size_t> main_measurement(const Results& results);

// `expected` comes before what is published of the GPUs. Nothing: as above.
std::optional<Headline> headline_of(const Results& results,
                                    std::optional<ExpectedBandwidth> expected);

// "all-reduce 352.1 GB/s at 4 GiB, 78% of 1 node, 97% of the 365 GB/s of --expect"
std::string headline_text(const Results& results, const Headline& headline);

}  // namespace distgpu::scaling
