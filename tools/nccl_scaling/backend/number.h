// The 16-bit floating-point numbers, which C++20 lacks, and integers in elements of every type.
#pragma once

#include "results.h"

#include <cstddef>
#include <cstdint>

namespace distgpu::scaling {

// IEEE 754 binary16. To 16 bits: to nearest, ties to even; too large becomes infinite.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);

// The upper half of a binary32. To 16 bits: to nearest, ties to even.
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);

// The largest N for which the type holds every integer from 0 to N.
std::uint32_t exact_integers(DataType type);

// Writes the integer `value`, at most exact_integers(type), as one element; reads one back, also
// one that is no integer.
void store(DataType type, std::uint32_t value, std::byte* element);
double load(DataType type, const std::byte* element);

}  // namespace distgpu::scaling
