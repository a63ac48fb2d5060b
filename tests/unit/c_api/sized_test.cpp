// Structs of other versions of mapping.h.
#include "c_api/sized.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace distgpu::c_api {
namespace {

struct Known {
    std::size_t size;
    std::uint64_t first;
    std::uint64_t second;
};

// As from a later header.
struct Later {
    Known known;
    std::uint64_t third;
};

std::string refusal(const Known& given) {
    const auto read = read_sized("known", &given);
    return read ? "none" : read.error().message();
}

TEST(ReadSized, OfTheSameVersion) {
    const Known given{sizeof(Known), 1, 2};
    const auto read = read_sized("known", &given);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->first, 1U);
    EXPECT_EQ(read->second, 2U);
}

TEST(ReadSized, WhatAnEarlierVersionLacksIsZero) {
    const Known given{offsetof(Known, second), 1, 2};
    const auto read = read_sized("known", &given);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->first, 1U);
    EXPECT_EQ(read->second, 0U);
}

TEST(ReadSized, OfALaterVersionOnlyWhereTheNewFieldsSayNothing) {
    Later later{{sizeof(Later), 1, 2}, 0};
    EXPECT_EQ(refusal(later.known), "none");
    later.third = 3;
    EXPECT_EQ(refusal(later.known),
              "distgpu: known.size 32: a field is set that this library does not have: it knows "
              "only 24 bytes; leave it 0, or use a newer libdistgpu");
}

TEST(ReadSized, ASizeThatIsNoneIsRefused) {
    const std::string end = ": not the size of the struct; set it to sizeof(struct known)";
    EXPECT_EQ(refusal({0, 1, 2}), "distgpu: known.size 0" + end);
    EXPECT_EQ(refusal({7, 1, 2}), "distgpu: known.size 7" + end);
    EXPECT_EQ(refusal({4097, 1, 2}), "distgpu: known.size 4097" + end);
    EXPECT_EQ(refusal({8, 1, 2}), "none");
}

TEST(ReadSized, ReadsNoByteBeyondTheLargestSize) {
    struct {
        Known known;
        std::array<unsigned char, 4096 - sizeof(Known)> zeros;
    } given{{4096, 1, 2}, {}};
    EXPECT_EQ(refusal(given.known), "none");
}

}  // namespace
}  // namespace distgpu::c_api
