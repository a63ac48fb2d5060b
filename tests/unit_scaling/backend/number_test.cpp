#include "backend/number.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace distgpu::scaling {
namespace {

// From IEEE 754-2008's binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
TEST(Half, KnownBitPatterns) {
    EXPECT_EQ(float_to_half(0.0F), 0x0000);
    EXPECT_EQ(float_to_half(-0.0F), 0x8000);
    EXPECT_EQ(float_to_half(1.0F), 0x3C00);
    EXPECT_EQ(float_to_half(-2.0F), 0xC000);
    EXPECT_EQ(float_to_half(65504.0F), 0x7BFF);                 // the largest
    EXPECT_EQ(float_to_half(65520.0F), 0x7C00);                 // half a step more: infinity
    EXPECT_EQ(float_to_half(0x1p-14F), 0x0400);                 // the smallest normal
    EXPECT_EQ(float_to_half(0x1p-24F), 0x0001);                 // the smallest of all
    EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);                 // a tie: to even
    EXPECT_EQ(float_to_half(2049.0F), float_to_half(2048.0F));  // a tie: to even
    EXPECT_EQ(float_to_half(2051.0F), float_to_half(2052.0F));
}

TEST(Half, EveryNumberConvertsBack) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = half_to_float(half);
        if (std::isnan(value)) {
            EXPECT_GT(bits & 0x7FFFU, 0x7C00U);
            continue;
        }
        ASSERT_EQ(float_to_half(value), half);
    }
}

// The upper half of binary32: 1.0F is 0x3F800000.
TEST(Bfloat, RoundsToNearestAndTiesToEven) {
    EXPECT_EQ(float_to_bfloat(1.0F), 0x3F80);
    EXPECT_EQ(float_to_bfloat(257.0F), float_to_bfloat(256.0F));
    EXPECT_EQ(float_to_bfloat(259.0F), float_to_bfloat(260.0F));
    EXPECT_TRUE(
        std::isnan(bfloat_to_float(float_to_bfloat(std::numeric_limits<float>::quiet_NaN()))));
    EXPECT_EQ(bfloat_to_float(0x4000), 2.0F);
}

TEST(Integers, AreExactUpToTheBound) {
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
        const std::uint32_t last = exact_integers(type);
        std::array<std::byte, 8> element{};
        for (std::uint32_t value = 0; value <= std::min(last, 4096U); ++value) {
            store_integer(type, value, element.data());
            ASSERT_EQ(load_number(type, element.data()), value);
        }
        store_integer(type, last, element.data());
        EXPECT_EQ(load_number(type, element.data()), last);
    }
}

}  // namespace
}  // namespace distgpu::scaling
