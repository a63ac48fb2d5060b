#include "backend/cuda_compute.h"

#include "backend/compute_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

// What was asked of CUDA, which is made up here.
std::vector<std::string> calls;
int collectives = 0;  // its address is their stream
int computing = 0;    // and this one's the other
int events = 0;

std::string name_of(cuda::Stream stream) {
    return stream == &collectives ? "collectives" : "compute";
}

Gpu made_up_gpu() {
    calls.clear();
    Gpu gpu{};
    gpu.stream = &collectives;
    gpu.cuda.error_string = [](cuda::Status, const char** text) -> cuda::Status {
        *text = "no kernel image";
        return cuda::success;
    };
    gpu.cuda.load_module = [](cuda::Module*, const void*) { return cuda::success; };
    gpu.cuda.get_function = [](cuda::Function*, cuda::Module, const char*) {
        return cuda::success;
    };
    gpu.cuda.create_stream = [](cuda::Stream* stream, unsigned) {
        *stream = &computing;
        return cuda::success;
    };
    gpu.cuda.create_event = [](cuda::Event* event, unsigned) {
        *event = &events;
        return cuda::success;
    };
    gpu.cuda.allocate = [](cuda::Address*, std::size_t) { return cuda::success; };
    gpu.cuda.record_event = [](cuda::Event, cuda::Stream stream) {
        calls.push_back("mark " + name_of(stream));
        return cuda::success;
    };
    gpu.cuda.launch = [](cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, cuda::Stream stream, void**, void**) {
        calls.push_back("kernel on " + name_of(stream));
        return cuda::success;
    };
    gpu.cuda.synchronize_stream = [](cuda::Stream stream) {
        calls.push_back("wait for " + name_of(stream));
        return cuda::success;
    };
    gpu.cuda.elapsed = [](float* milliseconds, cuda::Event, cuda::Event) {
        *milliseconds = 4;
        return cuda::success;
    };
    return gpu;
}

class NotingGroup final : public Communicator {
  public:
    std::optional<Error> run(const Call& /*call*/) override {
        calls.emplace_back("collective");
        return std::nullopt;
    }
    std::optional<Error> synchronize() override {
        calls.emplace_back("wait for the collective");
        return std::nullopt;
    }
    std::optional<Error> barrier() override { return std::nullopt; }
    std::optional<Error> close() override { return std::nullopt; }
};

class CudaComputeTest : public testing::Test {
  protected:
    void SetUp() override {
        if (compute_image() == nullptr) GTEST_SKIP() << "built without CUDA";
    }
};

using Calls = std::vector<std::string>;

// A training step's compute is at work when the collective comes, and goes on.
TEST_F(CudaComputeTest, TheCollectiveComesAfterTheFirstKernel) {
    const Gpu gpu = made_up_gpu();
    const auto compute = CudaCompute::make(gpu);
    ASSERT_TRUE(compute.has_value());
    NotingGroup group;
    const auto seconds = (*compute)->run(3, &group, {});
    ASSERT_TRUE(seconds.has_value());
    EXPECT_FLOAT_EQ(static_cast<float>(seconds->compute), 0.004F);
    EXPECT_FLOAT_EQ(static_cast<float>(seconds->communication), 0.004F);
    EXPECT_EQ(calls, (Calls{"mark compute", "mark collectives", "kernel on compute", "collective",
                            "mark collectives", "kernel on compute", "kernel on compute",
                            "mark compute", "wait for the collective", "wait for compute"}));
}

TEST_F(CudaComputeTest, EitherMayBeMissing) {
    const Gpu gpu = made_up_gpu();
    const auto compute = CudaCompute::make(gpu);
    NotingGroup group;
    ASSERT_TRUE((*compute)->run(0, &group, {}).has_value());
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "kernel on compute"), 0);
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "collective"), 1);
    calls.clear();
    ASSERT_TRUE((*compute)->run(2, nullptr, {}).has_value());
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "kernel on compute"), 2);
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "collective"), 0);
}

TEST_F(CudaComputeTest, SaysWhyThereIsNone) {
    Gpu gpu = made_up_gpu();
    gpu.cuda.load_module = [](cuda::Module*, const void*) -> cuda::Status { return 209; };
    EXPECT_EQ(CudaCompute::make(gpu).error(), (Error{"cuModuleLoadData", "no kernel image", ""}));
}

TEST(CudaCompute, IsMissingInABuildWithoutCuda) {
    if (compute_image() != nullptr) GTEST_SKIP() << "built with CUDA";
    const Gpu gpu = made_up_gpu();
    EXPECT_EQ(CudaCompute::make(gpu).error(),
              (Error{"compute kernel", "built without CUDA", "build it on a machine with nvcc"}));
}

}  // namespace
}  // namespace distgpu::scaling
