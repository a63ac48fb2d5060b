// Calls what backend/ and facts/ declare of CUDA's driver, NCCL and NVML in the libraries that are
// really there, each function at least once, and holds what it answers against what else is known.
// Which GPU is the first, in the words of nvidia-smi, comes from the environment:
//   EXPECTED_UUID    "GPU-..."
//   EXPECTED_NAME    "NVIDIA H100 80GB HBM3"
//   EXPECTED_CUDA    "13.0", the newest CUDA that the driver runs
#include "analysis/bus_bandwidth.h"
#include "backend/backend.h"
#include "backend/cuda_driver.h"
#include "backend/gpu.h"
#include "backend/gpu_check.h"
#include "backend/kernel_image.h"
#include "backend/nccl_library.h"
#include "backend/number.h"
#include "backend/timed_graph.h"
#include "base/format.h"
#include "facts/nvml_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

std::string expected(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr ? value : "";
}

class RealDriver : public testing::Test {
  protected:
    void SetUp() override {
        const auto loaded = cuda::load_driver();
        ASSERT_TRUE(loaded) << loaded.error().message();
        cuda = *loaded;
        ASSERT_EQ(cuda.init(0), cuda::success);
        ASSERT_EQ(cuda.device_get(&device, 0), cuda::success);
        cuda::Context context = nullptr;
        ASSERT_EQ(cuda.retain_primary_context(&context, device), cuda::success);
        ASSERT_EQ(cuda.set_current_context(context), cuda::success);
        ASSERT_EQ(cuda.create_stream(&stream, cuda::non_blocking), cuda::success);
    }

    cuda::Address memory(std::size_t bytes) {
        cuda::Address address = 0;
        EXPECT_EQ(cuda.allocate(&address, bytes), cuda::success);
        return address;
    }

    void upload(cuda::Address to, const std::vector<float>& values) {
        const std::size_t bytes = values.size() * sizeof(float);
        ASSERT_EQ(cuda.copy_to_device(to, values.data(), bytes, stream), cuda::success);
        ASSERT_EQ(cuda.synchronize_stream(stream), cuda::success);
    }

    std::vector<float> download(cuda::Address from, std::size_t count) {
        std::vector<float> values(count);
        EXPECT_EQ(cuda.copy_to_host(values.data(), from, count * sizeof(float)), cuda::success);
        return values;
    }

    cuda::Driver cuda{};
    cuda::Device device = 0;
    cuda::Stream stream = nullptr;
};

TEST_F(RealDriver, IsTheVersionThatNvidiaSmiNames) {
    int version = 0;
    ASSERT_EQ(cuda.driver_version(&version), cuda::success);
    EXPECT_EQ(formatted("{}.{}", version / 1000, version % 1000 / 10), expected("EXPECTED_CUDA"));
}

TEST_F(RealDriver, HasWordsForItsErrors) {
    const char* text = nullptr;
    constexpr cuda::Status out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
    ASSERT_EQ(cuda.error_string(out_of_memory, &text), cuda::success);
    EXPECT_STREQ(text, "out of memory");
}

TEST_F(RealDriver, CountsTheDevices) {
    int count = 0;
    ASSERT_EQ(cuda.device_count(&count), cuda::success);
    EXPECT_GE(count, 1);
    EXPECT_NE(cuda.device_get(&device, count), cuda::success);
}

TEST_F(RealDriver, NamesTheDeviceAsNvidiaSmiDoes) {
    std::array<char, 256> name{};
    ASSERT_EQ(cuda.device_name(name.data(), static_cast<int>(name.size()), device), cuda::success);
    EXPECT_EQ(std::string(name.data()), expected("EXPECTED_NAME"));
}

TEST_F(RealDriver, HasAClockRateInKilohertz) {
    int kilohertz = 0;
    ASSERT_EQ(cuda.device_attribute(&kilohertz, cuda::clock_rate, device), cuda::success);
    EXPECT_GT(kilohertz, 100'000);
    EXPECT_LT(kilohertz, 10'000'000);
}

TEST_F(RealDriver, CopiesThereAndBack) {
    const std::vector<float> values{1, 2, 3, 4};
    const cuda::Address there = memory(sizeof(float) * values.size());
    upload(there, values);
    EXPECT_EQ(download(there, values.size()), values);
    EXPECT_EQ(cuda.query_stream(stream), cuda::success);
}

TEST_F(RealDriver, CopiesWithinItsMemoryAndToPinnedMemory) {
    const std::vector<float> values{1, 2, 3, 4};
    const std::size_t bytes = sizeof(float) * values.size();
    const cuda::Address there = memory(bytes);
    const cuda::Address other = memory(bytes);
    upload(there, values);
    void* pinned = nullptr;
    ASSERT_EQ(cuda.allocate_pinned(&pinned, bytes), cuda::success);
    ASSERT_EQ(cuda.copy_within(other, there, bytes, stream), cuda::success);
    ASSERT_EQ(cuda.copy_to_pinned(pinned, other, bytes, stream), cuda::success);
    ASSERT_EQ(cuda.synchronize_stream(stream), cuda::success);
    const auto* const got = static_cast<const float*>(pinned);
    EXPECT_EQ(std::vector<float>(got, got + values.size()), values);
    EXPECT_EQ(cuda.free_pinned(pinned), cuda::success);
}

TEST_F(RealDriver, RefusesMoreMemoryThanThereIs) {
    cuda::Address address = 0;
    EXPECT_EQ(cuda.allocate(&address, std::size_t{1} << 50U), 2);
}

TEST_F(RealDriver, TimesAStreamByEvents) {
    cuda::Event begin = nullptr;
    cuda::Event end = nullptr;
    ASSERT_EQ(cuda.create_event(&begin, 0), cuda::success);
    ASSERT_EQ(cuda.create_event(&end, 0), cuda::success);
    ASSERT_EQ(cuda.record_event(begin, stream), cuda::success);
    ASSERT_EQ(cuda.record_event(end, stream), cuda::success);
    ASSERT_EQ(cuda.synchronize_stream(stream), cuda::success);
    float milliseconds = -1;
    ASSERT_EQ(cuda.elapsed(&milliseconds, begin, end), cuda::success);
    EXPECT_GE(milliseconds, 0);
    EXPECT_LT(milliseconds, 1000);
}

// Launched twice: the events belong to the graph.
TEST_F(RealDriver, TimesAGraphByEvents) {
    Gpu gpu{};
    gpu.cuda = cuda;
    gpu.stream = stream;
    const std::vector<float> values{1, 2, 3, 4};
    const cuda::Address there = memory(sizeof(float) * values.size());
    TimedGraph graph(gpu);
    const auto failed = graph.capture(2, [&] {
        const auto status = cuda.copy_to_device(there, values.data(), 16, stream);
        return gpu.error_of(status, "cuMemcpyHtoDAsync");
    });
    ASSERT_FALSE(failed) << failed->message();
    for (int i = 0; i < 2; ++i) {
        ASSERT_FALSE(graph.launch());
        ASSERT_EQ(cuda.synchronize_stream(stream), cuda::success);
        const auto ends = graph.ends();
        ASSERT_TRUE(ends) << ends.error().message();
        ASSERT_EQ(ends->size(), 2U);
        EXPECT_LE((*ends)[0], (*ends)[1]);
        EXPECT_LT((*ends)[1], 1);
    }
    EXPECT_EQ(download(there, values.size()), values);
}

// A buffer that begins and ends inside of a word of the kernels.
TEST_F(RealDriver, RunsTheKernelsOfTheCheck) {
    if (kernel_image() == nullptr) GTEST_SKIP() << "built without CUDA";
    Gpu gpu{};
    gpu.cuda = cuda;
    gpu.stream = stream;
    const auto check = check_on_gpu(gpu);
    ASSERT_TRUE(check) << check.error().message();
    const auto buffer = gpu.allocate(1000);
    ASSERT_TRUE(buffer);
    const std::array<std::byte, 3> table{std::byte{1}, std::byte{2}, std::byte{3}};
    ASSERT_FALSE((*check)->fill(*buffer + 5, 990, {table, 1}));
    EXPECT_EQ(*(*check)->first_difference(*buffer + 5, 990, {table, 1}), std::nullopt);
    std::array<std::byte, 990> got{};
    ASSERT_FALSE(gpu.download(got, *buffer + 5));
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], table[(1 + i) % 3]);
    ASSERT_FALSE(gpu.upload(*buffer + 5 + 78, std::span(table).first(1)));
    EXPECT_EQ(*(*check)->first_difference(*buffer + 5, 990, {table, 1}), 78U);
}

TEST(RealNccl, IsRecentEnough) {
    const auto library = nccl::load_library();
    ASSERT_TRUE(library) << library.error().message();
    int version = 0;
    ASSERT_EQ(library->get_version(&version), nccl::success);
    EXPECT_GE(version, 21800);
    EXPECT_EQ(library->version, nccl::version_text(version));
    EXPECT_NE(library->path.find("libnccl.so"), std::string::npos);
    EXPECT_EQ(library->all_to_all != nullptr, version >= 22800);
    EXPECT_EQ(library->register_buffer != nullptr, version >= 21900);
    EXPECT_EQ(std::string(library->error_string(nccl::invalid_usage)).substr(0, 13),
              "invalid usage");
}

TEST(RealNccl, MakesAnIdThatIsNotEmpty) {
    const auto library = nccl::load_library();
    ASSERT_TRUE(library);
    nccl::UniqueId id{};
    ASSERT_EQ(library->get_unique_id(&id), nccl::success);
    EXPECT_TRUE(std::any_of(id.bytes.begin(), id.bytes.end(), [](char byte) { return byte != 0; }));
}

TEST(RealNvml, KnowsTheGpuAndItsLink) {
    const auto gpu = NvmlGpu::open(expected("EXPECTED_UUID"));
    ASSERT_TRUE(gpu);
    const GpuState state = gpu->state();
    EXPECT_GE(state.pcie_generation, 1U);
    EXPECT_GE(state.greatest_pcie_generation, state.pcie_generation);
    EXPECT_GE(state.pcie_width, 1U);
    EXPECT_GE(state.greatest_pcie_width, state.pcie_width);
    EXPECT_EQ(state.throttle_reasons >> 9U, 0U) << "reasons that nvml.h does not know";
    EXPECT_EQ(state.xids, std::vector<unsigned long long>());
    EXPECT_FALSE(NvmlGpu::open("GPU-ffffffff-ffff-ffff-ffff-ffffffffffff"));
}

class RealBackend : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        auto loaded = load_nccl_backend({});
        ASSERT_TRUE(loaded) << loaded.error().message();
        backend = (*loaded).release();
        const auto started = backend->start({0, 1, 0});
        ASSERT_TRUE(started) << started.error().message();
        description = *started;
        const auto alone = [](const std::string& text) { return Result<std::string>(text); };
        const auto refused = backend->connect(alone);
        ASSERT_FALSE(refused) << refused->message();
    }

    // Its memory goes with the process.
    inline static Backend* backend = nullptr;
    inline static Description description;
};

TEST_F(RealBackend, SaysWhichGpuItIs) {
    EXPECT_EQ(description.gpu, expected("EXPECTED_NAME") + " " + expected("EXPECTED_UUID"));
}

// One rank alone: every collective hands its own data back.
TEST_F(RealBackend, RunsEveryCollectiveOfEveryType) {
    auto group = backend->split(0U, {0, 1});
    ASSERT_TRUE(group) << group.error().message();
    constexpr std::size_t count = 1024;
    const auto send = backend->allocate(count * 8);
    const auto receive = backend->allocate(count * 8);
    ASSERT_TRUE(send && receive);
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
          Collective::broadcast, Collective::reduce, Collective::all_to_all,
          Collective::send_recv}) {
        for (const DataType type : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16,
                                    DataType::i8, DataType::i32, DataType::i64}) {
            const std::size_t size = row_of(type).bytes;
            std::vector<std::byte> sent(count * size);
            for (std::size_t i = 0; i < count; ++i) store(type, 7, &sent[i * size]);
            ASSERT_FALSE(backend->upload(*send, sent));
            const auto failed = (*group)->run({collective, type, count, *send, *receive});
            ASSERT_FALSE(failed) << failed->message();
            ASSERT_FALSE((*group)->synchronize());
            std::vector<std::byte> got(count * size);
            ASSERT_FALSE(backend->download(got, *receive));
            EXPECT_EQ(got, sent) << row_of(collective).name << " of " << row_of(type).name;
        }
    }
    EXPECT_FALSE((*group)->barrier());
    EXPECT_FALSE((*group)->close());
}

// In memory that NCCL allocated.
TEST(RealModes, ALoopIsAGraphOnRegisteredMemory) {
    auto loaded = load_nccl_backend({.graph = true, .registered = true});
    ASSERT_TRUE(loaded) << loaded.error().message();
    Backend* const backend = (*loaded).release();  // its memory goes with the process
    ASSERT_TRUE(backend->start({0, 1, 0}));
    ASSERT_FALSE(backend->connect([](const std::string& id) { return Result<std::string>(id); }));
    const auto send = backend->allocate(4096);
    const auto receive = backend->allocate(4096);
    ASSERT_TRUE(send && receive);
    auto group = backend->split(0U, {0, 1});
    ASSERT_TRUE(group) << group.error().message();
    const std::vector<std::byte> sent(4096, std::byte{7});
    ASSERT_FALSE(backend->upload(*send, sent));
    const auto ends =
        (*group)->time({Collective::all_reduce, DataType::i8, 4096, *send, *receive}, 5, [] {});
    ASSERT_TRUE(ends) << ends.error().message();
    EXPECT_EQ(ends->size(), 5U);
    EXPECT_TRUE(std::is_sorted(ends->begin(), ends->end()));
    std::vector<std::byte> got(4096);
    ASSERT_FALSE(backend->download(got, *receive));
    EXPECT_EQ(got, sent);
    EXPECT_FALSE((*group)->close());
}

// From PCIe 1.0 with one lane to ten times the fastest memory of 2026.
TEST_F(RealBackend, CopiesAtRatesThatAGpuMayHave) {
    constexpr std::size_t bytes = std::size_t{64} << 20U;
    const auto to = backend->allocate(bytes);
    const auto from = backend->allocate(bytes);
    ASSERT_TRUE(to && from);
    const auto rates = backend->copy_rates({*to, bytes}, *from);
    ASSERT_TRUE(rates) << rates.error().message();
    for (const auto& rate : {rates->memory, rates->to_gpu, rates->from_gpu}) {
        ASSERT_TRUE(rate);
        EXPECT_GT(*rate, 0.1e9);
        EXPECT_LT(*rate, 80e12);
    }
}

TEST_F(RealBackend, AGroupWithoutThisRankIsNone) {
    auto group = backend->split(std::nullopt, {});
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_EQ(*group, nullptr);
}

}  // namespace
}  // namespace distgpu::scaling
