#include "backend/number.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace distgpu::scaling {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000U;
constexpr std::uint32_t float_infinity = 0x7F800000U;
constexpr std::uint16_t half_infinity = 0x7C00U;

// Mantissa bits of binary32 beyond those of the 16-bit type are dropped here.
std::uint32_t round_off(std::uint32_t bits, std::uint32_t dropped) {
    const std::uint32_t odd = (bits >> dropped) & 1U;
    return (bits + (1U << (dropped - 1U)) - 1U + odd) >> dropped;
}

template <class T>
void put(T value, std::byte* element) {
    std::memcpy(element, &value, sizeof value);
}

template <class T>
T get(const std::byte* element) {
    T value{};
    std::memcpy(&value, element, sizeof value);
    return value;
}

}  // namespace

float half_to_float(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
    if ((bits & half_infinity) == half_infinity) {
        return std::bit_cast<float>(sign | float_infinity | magnitude);
    }
    // The exponents' biases are 127 and 15; a product also makes subnormals right.
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

std::uint16_t float_to_half(float value) {
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

float bfloat_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t float_to_bfloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    // Rounding could carry a NaN's mantissa away.
    if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
    return static_cast<std::uint16_t>(round_off(bits, 16));
}

// The exponents' biases are 7 and 15, as in half_to_float().
float e4m3_to_float(std::uint8_t bits) {
    if ((bits & 0x7FU) == 0x7FU) return std::numeric_limits<float>::quiet_NaN();
    const std::uint32_t sign = (bits & 0x80U) << 8U;
    const std::uint32_t magnitude = (bits & 0x7FU) << 7U;
    return half_to_float(static_cast<std::uint16_t>(sign | magnitude)) * 0x1p8F;
}

float e5m2_to_float(std::uint8_t bits) {
    return half_to_float(static_cast<std::uint16_t>(bits << 8U));
}

std::uint32_t exact_integers(DataType type) {
    switch (type) {
        case DataType::i8:
            return 127;
        case DataType::f8e5m2:
            return 1U << 3U;
        case DataType::f8e4m3:
            return 1U << 4U;
        case DataType::bf16:
            return 1U << 8U;
        case DataType::f16:
            return 1U << 11U;
        case DataType::f32:
            return 1U << 24U;
        case DataType::f64:
        case DataType::i32:
        case DataType::i64:
            break;
    }
    return (1U << 31U) - 1;
}

namespace {

// Of an integer that it holds.
std::uint8_t e4m3_of(std::uint32_t value) {
    if (value == 0) return 0;
    constexpr std::uint32_t other_bias = (15U - 7U) << 3U;
    return static_cast<std::uint8_t>((float_to_half(static_cast<float>(value)) >> 7U) - other_bias);
}

}  // namespace

void store(DataType type, std::uint32_t value, std::byte* element) {
    switch (type) {
        case DataType::i8:
            return put(static_cast<std::int8_t>(value), element);
        case DataType::f8e4m3:
            return put(e4m3_of(value), element);
        case DataType::f8e5m2:
            return put(static_cast<std::uint8_t>(float_to_half(static_cast<float>(value)) >> 8U),
                       element);
        case DataType::bf16:
            return put(float_to_bfloat(static_cast<float>(value)), element);
        case DataType::f16:
            return put(float_to_half(static_cast<float>(value)), element);
        case DataType::f32:
            return put(static_cast<float>(value), element);
        case DataType::f64:
            return put(static_cast<double>(value), element);
        case DataType::i32:
            return put(static_cast<std::int32_t>(value), element);
        case DataType::i64:
            return put(static_cast<std::int64_t>(value), element);
    }
}

double load(DataType type, const std::byte* element) {
    switch (type) {
        case DataType::i8:
            return get<std::int8_t>(element);
        case DataType::f8e4m3:
            return e4m3_to_float(get<std::uint8_t>(element));
        case DataType::f8e5m2:
            return e5m2_to_float(get<std::uint8_t>(element));
        case DataType::bf16:
            return bfloat_to_float(get<std::uint16_t>(element));
        case DataType::f16:
            return half_to_float(get<std::uint16_t>(element));
        case DataType::f32:
            return get<float>(element);
        case DataType::f64:
            return get<double>(element);
        case DataType::i32:
            return get<std::int32_t>(element);
        case DataType::i64:
            break;
    }
    return static_cast<double>(get<std::int64_t>(element));
}

}  // namespace distgpu::scaling
