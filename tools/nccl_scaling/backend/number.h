// 16-bit floating-point numbers, which C++20 lacks, and elements of all data types as numbers.
#pragma once

#include "results/results.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace distgpu::scaling {

inline constexpr std::uint32_t sign_bit = 0x80000000U;
inline constexpr std::uint32_t float_infinity = 0x7F800000U;
inline constexpr std::uint16_t half_infinity = 0x7C00U;

// Rounds the lowest `dropped` bits off: to nearest, ties to even.
inline std::uint32_t round_off(std::uint32_t bits, std::uint32_t dropped) {
    const std::uint32_t odd = (bits >> dropped) & 1U;
    return (bits + (1U << (dropped - 1U)) - 1U + odd) >> dropped;
}

// IEEE 754 binary16. The conversion to 16 bits rounds to nearest, ties to even; too large numbers
// become infinite.
inline float half_to_float(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
    if ((bits & half_infinity) == half_infinity) {
        return std::bit_cast<float>(sign | float_infinity | magnitude);
    }
    // The exponent biases are 127 and 15. The multiplication also converts subnormals correctly.
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

inline std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits & sign_bit) >> 16U);
    const float size = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7E00U;
    if (size >= 65520.0F) return sign | half_infinity;  // half of the step above 65504
    if (size < 0x1p-14F) {                              // a multiple of 2^-24
        return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24F));
    }
    const std::uint32_t rebiased = std::bit_cast<std::uint32_t>(size) - (112U << 23U);
    return sign | static_cast<std::uint16_t>(round_off(rebiased, 13));
}

// The upper half of a binary32. The conversion to 16 bits rounds to nearest, ties to even.
inline float bfloat_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

inline std::uint16_t float_to_bfloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    // Rounding could turn a NaN into infinity.
    if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
    return static_cast<std::uint16_t>(round_off(bits, 16));
}

// The largest N for which the type holds every integer from 0 to N.
inline std::uint32_t exact_integers(DataType type) {
    if (type == DataType::f32) return 1U << 24U;
    return type == DataType::f16 ? 1U << 11U : 1U << 8U;
}

// Writes the integer `value`, at most exact_integers(type), as one element.
inline void store_integer(DataType type, std::uint32_t value, std::byte* element) {
    const auto number = static_cast<float>(value);
    if (type == DataType::f32) {
        std::memcpy(element, &number, sizeof number);
    } else {
        const std::uint16_t bits =
            type == DataType::f16 ? float_to_half(number) : float_to_bfloat(number);
        std::memcpy(element, &bits, sizeof bits);
    }
}

// The value of one element, which need not be an integer.
inline double load_number(DataType type, const std::byte* element) {
    float number = 0;
    if (type == DataType::f32) {
        std::memcpy(&number, element, sizeof number);
        return number;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, element, sizeof bits);
    return type == DataType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
}

}  // namespace distgpu::scaling
