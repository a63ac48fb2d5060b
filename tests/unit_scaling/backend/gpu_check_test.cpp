#include "backend/gpu_check.h"

#include "backend/kernel_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

// CUDA is made up here: its memory is the host's. Which kernels were launched, and on what.
struct Launch {
    std::string kernel;
    cuda::Address words;
    unsigned head;
    unsigned long long bytes;
    std::vector<std::byte> tile;
};
std::vector<Launch> launches;
unsigned long long found;  // what distgpu_compare finds
std::array<std::string, 2> names{"distgpu_fill", "distgpu_compare"};
alignas(16) std::array<std::byte, std::size_t{2} << 20U> memory_of_check;

std::byte* pointer(cuda::Address address) {
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

cuda::Status launch(cuda::Function function, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, unsigned, cuda::Stream, void** parameters, void**) {
    const auto address = [&](int i) { return *static_cast<cuda::Address*>(parameters[i]); };
    const auto* const tile = pointer(address(3));
    const auto tile_words = *static_cast<unsigned*>(parameters[4]);
    launches.push_back({*static_cast<std::string*>(function), address(0),
                        *static_cast<unsigned*>(parameters[1]), address(2),
                        std::vector<std::byte>(tile, tile + 16 * std::size_t{tile_words})});
    if (launches.back().kernel == names[1]) {
        std::memcpy(pointer(address(5)), &found, sizeof found);
    }
    return cuda::success;
}

Gpu made_up_gpu() {
    launches.clear();
    Gpu gpu{};
    gpu.cuda.error_string = [](cuda::Status, const char** text) -> cuda::Status {
        *text = "no kernel image";
        return cuda::success;
    };
    gpu.cuda.load_module = [](cuda::Module*, const void*) { return cuda::success; };
    gpu.cuda.get_function = [](cuda::Function* function, cuda::Module, const char* name) {
        *function = std::find(names.begin(), names.end(), name);
        return cuda::success;
    };
    gpu.cuda.allocate = [](cuda::Address* address, std::size_t bytes) {
        *address = address_of(memory_of_check.data());
        return bytes <= memory_of_check.size() ? cuda::success : 2;
    };
    gpu.cuda.launch = launch;
    gpu.cuda.synchronize_stream = [](cuda::Stream) { return cuda::success; };
    gpu.cuda.copy_to_device = [](cuda::Address to, const void* from, std::size_t bytes,
                                 cuda::Stream) {
        std::memcpy(pointer(to), from, bytes);
        return cuda::success;
    };
    gpu.cuda.copy_to_host = [](void* to, cuda::Address from, std::size_t bytes) {
        std::memcpy(to, pointer(from), bytes);
        return cuda::success;
    };
    return gpu;
}

constexpr std::array<std::byte, 3> table{std::byte{1}, std::byte{2}, std::byte{3}};

class CheckOnGpu : public testing::Test {
  protected:
    void SetUp() override {
        if (kernel_image() == nullptr) GTEST_SKIP() << "built without CUDA";
        auto made = check_on_gpu(gpu);
        ASSERT_TRUE(made.has_value());
        check = *std::move(made);
    }

    Gpu gpu = made_up_gpu();
    std::unique_ptr<GpuCheck> check;
    alignas(16) std::array<std::byte, 256> buffer{};
};

// Five bytes behind a word's begin the content begins with the table's second byte; so at the
// word's begin, 5 bytes before, it is at 1 - 5 = -4, which modulo 3 is 2.
TEST_F(CheckOnGpu, TheTileIsWhatBelongsAtTheWordsBegin) {
    ASSERT_FALSE(check->fill(&buffer[5], 200, {table, 1}));
    ASSERT_EQ(launches.size(), 1U);
    EXPECT_EQ(launches[0].kernel, "distgpu_fill");
    EXPECT_EQ(launches[0].words, address_of(buffer.data()));
    EXPECT_EQ(launches[0].head, 5U);
    EXPECT_EQ(launches[0].bytes, 200U);
    ASSERT_EQ(launches[0].tile.size(), 16U * 3);
    for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(launches[0].tile[i], table[(2 + i) % 3]);
}

TEST_F(CheckOnGpu, ATileIsNoLongerThanTheBuffer) {
    ASSERT_FALSE(check->fill(&buffer[15], 2, {table, 0}));
    EXPECT_EQ(launches[0].tile.size(), 32U);  // a byte in each of two words
}

TEST_F(CheckOnGpu, HandsOnWhatTheKernelFinds) {
    found = 77;
    auto place = check->first_difference(buffer.data(), 200, {table, 0});
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(*place, 77U);
    found = ~0ULL;
    place = check->first_difference(buffer.data(), 200, {table, 0});
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(*place, std::nullopt);
}

TEST_F(CheckOnGpu, SaysWhyThereIsNone) {
    gpu.cuda.load_module = [](cuda::Module*, const void*) -> cuda::Status { return 209; };
    EXPECT_EQ(check_on_gpu(gpu).error(), (Error{"cuModuleLoadData", "no kernel image", ""}));
}

TEST(CheckOfABuildWithoutCuda, IsMissing) {
    if (kernel_image() != nullptr) GTEST_SKIP() << "built with CUDA";
    EXPECT_EQ(check_on_gpu(made_up_gpu()).error(),
              (Error{"kernels", "built without CUDA", "build it on a machine with nvcc"}));
}

// More than one tile of 16 MiB.
TEST(CheckOnHost, GoesThroughAllTiles) {
    const Gpu gpu = made_up_gpu();
    const auto check = check_on_host(gpu);
    std::vector<std::byte> data((std::size_t{40} << 20U) + 1);
    ASSERT_FALSE(check->fill(data.data(), data.size(), {table, 2}));
    for (const std::size_t place : {data.size() - 1, std::size_t{20} << 20U, std::size_t{0}}) {
        EXPECT_EQ(data[place], table[(2 + place) % 3]);
    }
    EXPECT_EQ(*check->first_difference(data.data(), data.size(), {table, 2}), std::nullopt);
    for (const std::size_t place : {data.size() - 1, std::size_t{20} << 20U}) {
        data[place] = std::byte{9};
        EXPECT_EQ(*check->first_difference(data.data(), data.size(), {table, 2}), place);
    }
}

}  // namespace
}  // namespace distgpu::scaling
