// What the user asked for, and which operations those are.
#pragma once

#include "analysis/subject.h"
#include "base/result.h"
#include "results/results.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace distgpu::scaling {

// None is empty.
struct Wishes {
    std::vector<Collective> collectives;
    std::vector<DataType> types;
    std::vector<std::uint64_t> sizes;  // ascending
    std::vector<Op> ops{Op::sum};      // of those that reduce
    bool quick = false;                // only what a limiter is found by
};

// Backend::offers.
using Offers = std::function<bool(const Subject& subject)>;

// Errors: a type or an operation that nothing can be measured with.
std::optional<Error> refusal_of(const Wishes& wishes, const Offers& offers);

// In the order in which they are measured. Precondition: no refusal.
std::vector<Subject> operations_of(const Wishes& wishes, const Offers& offers);

// Of these the one by which nodes, pairs and rails are told apart: the largest size of the first.
Subject comparison_of(const std::vector<Subject>& operations);

}  // namespace distgpu::scaling
