// A rank's GPU as the nccl back end uses it: the two libraries, the stream on which collectives
// run, and what their status codes mean to a user.
#pragma once

#include "backend/cuda_driver.h"
#include "backend/nccl_library.h"
#include "base/result.h"

#include <cstddef>
#include <optional>

namespace distgpu::scaling {

struct Gpu {
    cuda::Driver cuda;
    nccl::Library nccl;
    cuda::Stream stream = nullptr;

    // Nothing: success. Else an error with the library's own text.
    std::optional<Error> error_of(cuda::Status status, const char* function) const;
    std::optional<Error> error_of_nccl(nccl::Status status, const char* function,
                                       nccl::Communicator communicator) const;

    Result<std::byte*> allocate(std::size_t bytes) const;
};

// The driver's word for GPU memory, and a pointer's.
cuda::Address address_of(const std::byte* pointer);

}  // namespace distgpu::scaling
