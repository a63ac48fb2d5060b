// See gpu.h.
#include "backend/gpu.h"

#include "base/format.h"

#include <algorithm>
#include <string>

namespace distgpu::scaling {
namespace {

const char* remedy_of(nccl::Status status) {
    switch (status) {
        case nccl::invalid_usage:  // of a program that works elsewhere: two ranks on one GPU
            return "give each task a GPU of its own; NCCL_DEBUG=INFO shows more";
        case nccl::in_progress:
            return "unset NCCL_COMM_BLOCKING, which makes NCCL's calls return early";
        default:
            return "run again with NCCL_DEBUG=INFO";
    }
}

// NCCL's text as part of one line.
std::string one_line(const char* text) {
    std::string line = text != nullptr ? text : "";
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
}

}  // namespace

std::optional<Error> Gpu::error_of(cuda::Status status, const char* function) const {
    if (status == cuda::success) return std::nullopt;
    const char* text = nullptr;
    cuda.error_string(status, &text);
    return Error{function, text != nullptr ? text : formatted("CUDA error {}", status), ""};
}

std::optional<Error> Gpu::error_of_nccl(nccl::Status status, const char* function,
                                        nccl::Communicator communicator) const {
    if (status == nccl::success) return std::nullopt;
    std::string problem = one_line(nccl.error_string(status));
    const std::string details = one_line(nccl.last_error(communicator));
    if (!details.empty()) problem += ": " + details;
    return Error{function, problem, remedy_of(status)};
}

Result<std::byte*> Gpu::allocate(std::size_t bytes) const {
    cuda::Address address = 0;
    if (auto error = error_of(cuda.allocate(&address, bytes), "cuMemAlloc")) {
        error->object += formatted(" of {} bytes", bytes);
        return *error;
    }
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): CUDA's way
}

std::optional<Error> Gpu::upload(std::byte* to, std::span<const std::byte> from) const {
    const auto status = cuda.copy_to_device(address_of(to), from.data(), from.size(), stream);
    if (auto error = error_of(status, "cuMemcpyHtoDAsync")) return error;
    return error_of(cuda.synchronize_stream(stream), "cuStreamSynchronize");
}

std::optional<Error> Gpu::download(std::span<std::byte> to, const std::byte* from) const {
    return error_of(cuda.copy_to_host(to.data(), address_of(from), to.size()), "cuMemcpyDtoH");
}

cuda::Address address_of(const std::byte* pointer) {
    return reinterpret_cast<cuda::Address>(pointer);
}

}  // namespace distgpu::scaling
