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

TEST(Gpu, SaysHowMuchMemoryItLacks) {
    Gpu gpu = made_up_gpu();
    gpu.cuda.allocate = [](cuda::Address*, std::size_t) -> cuda::Status { return 2; };
    EXPECT_EQ(gpu.allocate(4096).error(), (Error{"cuMemAlloc of 4096 bytes", "out of memory", ""}));
}

}  // namespace
}  // namespace distgpu::scaling
