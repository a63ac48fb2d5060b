#include "report/units.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

TEST(FormatBytes, PowersOf1024HaveTheirUnit) {
    EXPECT_EQ(format_bytes(8), "8 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(64ULL << 20U), "64 MiB");
    EXPECT_EQ(format_bytes(16ULL << 30U), "16 GiB");
    EXPECT_EQ(format_bytes(1ULL << 50U), "1024 TiB");  // the last unit
}

TEST(FormatBytes, FractionsHaveTwoDecimalsAtMost) {
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(1000000), "976.56 KiB");  // 1e6 / 1024 = 976.5625
}

TEST(FormatBandwidth, GigabytesAreDecimal) {
    EXPECT_EQ(format_bandwidth(480e9), "480.00");
    EXPECT_EQ(format_bandwidth(std::nullopt), "n/a");
}

TEST(FormatPercent, OneDecimal) {
    EXPECT_EQ(format_percent(0.9259), "92.6 %");
}

}  // namespace
}  // namespace distgpu::scaling
