#include "backend/repeated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace distgpu::scaling {
namespace {

constexpr std::array<std::byte, 3> table{std::byte{1}, std::byte{2}, std::byte{3}};

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> all;
    for (const int value : values) all.push_back(static_cast<std::byte>(value));
    return all;
}

TEST(Repeated, BeginsAnywhereInTheTableAndComesAgain) {
    std::vector<std::byte> buffer(7);
    fill(buffer, {table, 2});
    EXPECT_EQ(buffer, bytes({3, 1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(first_difference(buffer, {table, 2}), std::nullopt);
    EXPECT_EQ(first_difference(buffer, {table, 5}), std::nullopt);  // a period later
    EXPECT_EQ(first_difference(buffer, {table, 1}), 0U);
}

TEST(Repeated, NothingIsRight) {
    EXPECT_EQ(first_difference({}, {table, 0}), std::nullopt);
}

// Enough for a thread on each of 4 CPUs and a rest; the table does not divide a thread's share.
class LargeBuffer : public testing::Test {
  protected:
    std::vector<std::byte> buffer = filled();
    Repeated content{table, 1};

    static std::vector<std::byte> filled() {
        std::vector<std::byte> all((std::size_t{4} << 20U) + 5);
        fill(all, {table, 1});
        return all;
    }
};

TEST_F(LargeBuffer, EveryByteHasItsPlaceInTheTable) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < buffer.size(); ++i) wrong += buffer[i] != table[(1 + i) % 3];
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(first_difference(buffer, content), std::nullopt);
}

TEST_F(LargeBuffer, TheFirstOfSeveralDifferencesIsFound) {
    for (const std::size_t place : {buffer.size() - 1, std::size_t{3} << 20U, std::size_t{77}}) {
        buffer[place] ^= std::byte{1};
        EXPECT_EQ(first_difference(buffer, content), place);
    }
}

}  // namespace
}  // namespace distgpu::scaling
