// Made-up results of clusters of any size, for the tests and the sample pages. The times follow
// t = alpha + f bytes / beta with invented constants; nothing was measured.
#pragma once

#include "report/report_input.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace distgpu::scaling::sample {

struct Shape {
    std::uint32_t nodes = 4;
    std::uint32_t ranks_per_node = 8;
    std::string backend = "nccl";
    std::uint32_t rounds = 3;  // of the tournament of pairs; 0: none
    std::optional<std::uint32_t> slow_node =
        std::nullopt;  // its network has 60 % of the others' rate
};

inline constexpr std::size_t sizes = 15;  // 8 B, 32 B, ... 2 GiB

// All-reduce of float over these sizes, out of place and in place, on 2, 4, ... GPUs of the
// first node and on 1, 2, 4, ... all nodes; pairs at 1 GiB; efficiencies, fits and a verdict.
ReportInput results(const Shape& shape);

}  // namespace distgpu::scaling::sample
