// The kernels of check_kernel.cu, compiled for the CPU, as a grid of threads one after the other.
#include "backend/repeated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

// What CUDA has of its own.
#define __global__
#define __device__
namespace {

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct {
    unsigned x;
} gridDim, blockDim, blockIdx, threadIdx;

void atomicMin(unsigned long long* value, unsigned long long other) {
    *value = std::min(*value, other);
}

#include "backend/check_kernel.cu"

// Of 2 blocks of 3 threads, which is fewer than there are words.
template <class Kernel>
void launch(const Kernel& kernel) {
    gridDim.x = 2;
    blockDim.x = 3;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel();
    }
}

constexpr std::size_t room = 1024;
constexpr unsigned period = 5;  // of the content, and words of the tile

// A buffer inside of memory, `head` bytes behind a word's begin, and the tile that belongs there.
class KernelTest : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {
  protected:
    unsigned head = std::get<0>(GetParam());
    unsigned bytes = std::get<1>(GetParam());
    alignas(16) std::array<unsigned char, room> memory = filled();
    alignas(16) std::array<unsigned char, 16 * period> tile = made();

    static std::array<unsigned char, room> filled() {
        std::array<unsigned char, room> all{};
        all.fill(0xEE);
        return all;
    }

    static std::array<unsigned char, 16 * period> made() {
        std::array<unsigned char, 16 * period> all{};
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<unsigned char>(1 + i % period);
        return all;
    }

    uint4* words() { return reinterpret_cast<uint4*>(memory.data()); }
    const uint4* tile_words() { return reinterpret_cast<const uint4*>(tile.data()); }

    void fill() {
        launch([&] { distgpu_fill(words(), head, bytes, tile_words(), period); });
    }

    unsigned long long first_difference() {
        auto first = std::numeric_limits<unsigned long long>::max();
        launch([&] { distgpu_compare(words(), head, bytes, tile_words(), period, &first); });
        return first;
    }
};

TEST_P(KernelTest, FillsTheBufferAndNothingElse) {
    fill();
    for (std::size_t i = 0; i < room; ++i) {
        const bool inside = i >= head && i < head + bytes;
        ASSERT_EQ(memory[i], inside ? 1 + i % period : 0xEE) << i;
    }
    EXPECT_EQ(first_difference(), std::numeric_limits<unsigned long long>::max());
}

TEST_P(KernelTest, FindsTheFirstByteThatDiffers) {
    fill();
    for (const unsigned place : {bytes - 1, bytes / 2, 0U}) {
        memory[head + place] |= 0x80;
        EXPECT_EQ(first_difference(), place);
    }
}

// Heads and ends inside of a word, at its bounds, both in one word; more words than threads.
INSTANTIATE_TEST_SUITE_P(Places, KernelTest,
                         testing::Combine(testing::Values(0U, 1U, 15U),
                                          testing::Values(1U, 2U, 16U, 17U, 31U, 160U, 777U)));

}  // namespace
