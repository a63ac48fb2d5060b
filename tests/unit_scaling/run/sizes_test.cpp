#include "run/sizes.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(ParseSize, PowersOf1024) {
    EXPECT_EQ(*parse_size("8"), 8U);
    EXPECT_EQ(*parse_size("1K"), 1024U);
    EXPECT_EQ(*parse_size("64m"), 64U << 20U);
    EXPECT_EQ(*parse_size("1024G"), std::uint64_t{1} << 40U);
}

TEST(ParseSize, RefusesWhatIsNone) {
    for (const char* text :
         {"", "K", "0", "-1", "1T", "1 K", "1KB", "1025G", "1e6", "99999999999999999999"}) {
        const auto size = parse_size(text);
        ASSERT_FALSE(size) << text;
        EXPECT_EQ(size.error(), (Error{std::string("size ") + text, "not a size from 1 to 1024G",
                                       "give a size such as 8, 64K, 16M or 1G"}));
    }
}

TEST(Sizes, AreMultipliedOrAdded) {
    EXPECT_EQ(*sizes_of({8, 100, 3, std::nullopt}), (Sizes{8, 24, 72}));
    EXPECT_EQ(*sizes_of({8, 16, 2, std::nullopt}), (Sizes{8, 16}));
    EXPECT_EQ(*sizes_of({8, 20, 2, 4}), (Sizes{8, 12, 16, 20}));
}

// The next size would be 2^64.
TEST(Sizes, EndWhereTheNextWouldNotFit) {
    constexpr std::uint32_t factor = 1U << 24U;
    EXPECT_EQ(*sizes_of({1, largest_size, factor, std::nullopt}), (Sizes{1, factor}));
    EXPECT_EQ(*sizes_of({largest_size, largest_size, factor, std::nullopt}), Sizes{largest_size});
}

TEST(Sizes, RefuseWhatHasNoEnd) {
    EXPECT_EQ(sizes_of({8, 4, 2, std::nullopt}).error().object, "-b, -e");
    EXPECT_EQ(sizes_of({8, 16, 1, std::nullopt}).error().object, "-f");
    EXPECT_EQ(sizes_of({1, 10001, 2, 1}).error().object, "-b, -e, -i");
    EXPECT_EQ(sizes_of({1, 10000, 2, 1})->size(), 10000U);
}

}  // namespace
}  // namespace distgpu::scaling
