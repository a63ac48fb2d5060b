// A rank's GPU as the nccl back end uses it: the two libraries, the stream on which collectives
// run, and what their status codes mean to a user.
#pragma once

#include "backend/backend.h"
#include "backend/cuda_driver.h"
#include "backend/nccl_library.h"
#include "base/result.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace distgpu::scaling {

struct Gpu {
    cuda::Driver cuda;
    nccl::Library nccl;
    cuda::Stream stream = nullptr;
    Modes modes{};
    std::vector<cuda::Event> events{};  // by which NcclCommunicator times what is on the stream

    // Nothing: success. Else an error with the library's own text where it has one.
    std::optional<Error> error_of(cuda::Status status, const char* function) const;
    std::optional<Error> error_of_nccl(nccl::Status status, const char* function,
                                       nccl::Communicator communicator) const;

    Result<std::byte*> allocate(std::size_t bytes) const;

    // On the stream of the collectives: a plain copy may still be under way when it returns, and
    // other streams do not wait for it.
    std::optional<Error> upload(std::byte* to, std::span<const std::byte> from) const;
    std::optional<Error> download(std::span<std::byte> to, const std::byte* from) const;
};

// The driver's word for GPU memory, and a pointer's.
cuda::Address address_of(const std::byte* pointer);

}  // namespace distgpu::scaling
