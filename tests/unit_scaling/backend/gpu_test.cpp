#include "backend/gpu.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

Gpu made_up_gpu() {
    Gpu gpu{};
    gpu.nccl.error_string = [](nccl::Status) { return "internal error"; };
    gpu.nccl.last_error = [](nccl::Communicator) { return ""; };
    gpu.cuda.error_string = [](cuda::Status status, const char** text) -> cuda::Status {
        *text = status == 2 ? "out of memory" : nullptr;
        return cuda::success;
    };
    return gpu;
}

TEST(Gpu, ErrorsOfNccl) {
    const Gpu gpu = made_up_gpu();
    EXPECT_EQ(gpu.error_of_nccl(nccl::success, "ncclSplit", nullptr), std::nullopt);
    const Error internal{"ncclSplit", "internal error", "run again with NCCL_DEBUG=INFO"};
    EXPECT_EQ(gpu.error_of_nccl(3, "ncclSplit", nullptr), internal);
}

TEST(Gpu, SaysWhatToDo) {
    const Gpu gpu = made_up_gpu();
    EXPECT_EQ(gpu.error_of_nccl(nccl::invalid_usage, "f", nullptr)->remedy,
              "give each task a GPU of its own; NCCL_DEBUG=INFO shows more");
    EXPECT_EQ(gpu.error_of_nccl(nccl::in_progress, "f", nullptr)->remedy,
              "unset NCCL_COMM_BLOCKING, which makes NCCL's calls return early");
}

TEST(Gpu, ErrorsOfCuda) {
    const Gpu gpu = made_up_gpu();
    EXPECT_EQ(gpu.error_of(cuda::success, "cuInit"), std::nullopt);
    EXPECT_EQ(gpu.error_of(2, "cuInit"), (Error{"cuInit", "out of memory", ""}));
    EXPECT_EQ(gpu.error_of(9999, "cuInit"), (Error{"cuInit", "CUDA error 9999", ""}));
}

// A stub of libcuda knows no texts.
TEST(Gpu, HasWordsOfItsOwnForWhatKeepsAGpuFromBeingUsed) {
    const Gpu gpu = made_up_gpu();
    EXPECT_EQ(gpu.error_of(34, "cuInit"),
              (Error{"cuInit", "libcuda.so.1 is the toolkit's stub, not the driver's library",
                     "take the toolkit's stubs folder out of LD_LIBRARY_PATH"}));
    for (const cuda::Status status : {3, 34, 46, 100, 101, 802, 803, 804, 999}) {
        const auto error = gpu.error_of(status, "cuInit");
        EXPECT_EQ(error->problem.find("CUDA error"), std::string::npos) << status;
        EXPECT_FALSE(error->remedy.empty()) << status;
    }
}

TEST(Gpu, TheLibrarysWordsComeFirst) {
    Gpu gpu = made_up_gpu();
    gpu.cuda.error_string = [](cuda::Status, const char** text) -> cuda::Status {
        *text = "system not yet initialized";
        return cuda::success;
    };
    EXPECT_EQ(gpu.error_of(802, "cuInit"),
              (Error{"cuInit", "system not yet initialized",
                     "start nvidia-fabricmanager, which NVSwitch needs, and see its log"}));
}

TEST(Gpu, SaysHowMuchMemoryItLacks) {
    Gpu gpu = made_up_gpu();
    gpu.cuda.allocate = [](cuda::Address*, std::size_t) -> cuda::Status { return 2; };
    EXPECT_EQ(gpu.allocate(4096).error(), (Error{"cuMemAlloc of 4096 bytes", "out of memory", ""}));
}

}  // namespace
}  // namespace distgpu::scaling
