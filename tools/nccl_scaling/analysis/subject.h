// What a measurement is of, apart from the group that did it.
#pragma once

#include "results/results.h"

#include <cstdint>

namespace distgpu::scaling {

struct Subject {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    bool in_place = false;
    std::uint64_t bytes = 0;
    Op op = Op::sum;  // of a reduction

    bool operator==(const Subject&) const = default;
};

inline Subject subject_of(const Measurement& measurement) {
    return {.collective = measurement.collective,
            .type = measurement.type,
            .in_place = measurement.in_place,
            .bytes = measurement.bytes,
            .op = measurement.op};
}

inline bool differ_only_in_size(Subject a, const Subject& b) {
    a.bytes = b.bytes;
    return a == b;
}

}  // namespace distgpu::scaling
