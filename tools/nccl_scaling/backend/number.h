// The floating-point numbers of 16 and 8 bits, which C++20 lacks, and integers in elements of every
// type.
#pragma once

#include "results/results.h"

#include <cstddef>
#include <cstdint>

namespace distgpu::scaling {

// IEEE 754 binary16. To 16 bits: to nearest, ties to even; too large becomes infinite.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);

// The upper half of a binary32. To 16 bits: to nearest, ties to even.
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);

// OCP's 8-bit floating-point numbers: E4M3, which has no infinity, and E5M2, the upper half of a
// binary16. The other way there are only integers that they hold; see store().
float e4m3_to_float(std::uint8_t bits);
float e5m2_to_float(std::uint8_t bits);

// The largest N for which the type holds every integer from 0 to N.
std::uint32_t exact_integers(DataType type);

// Writes the integer `value`, at most exact_integers(type), as one element; reads one back, also
// one that is no integer.
void store(DataType type, std::uint32_t value, std::byte* element);
double load(DataType type, const std::byte* element);

}  // namespace distgpu::scaling
