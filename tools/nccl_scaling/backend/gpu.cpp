#include "backend/gpu.h"

#include "base/format.h"

#include <algorithm>
#include <array>
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

// What keeps a GPU from being used at all. Not every library has words for its errors: a stub has
// none. Meanings: CUDA Driver API manual, CUresult.
struct Meaning {
    cuda::Status status;
    const char* problem;
    const char* remedy;
};
constexpr const char* reload = "restart the node, or unload and load NVIDIA's kernel module";
constexpr std::array meanings{
    Meaning{cuda::not_initialized, "the driver was not initialised", reload},
    Meaning{cuda::stub_library, "libcuda.so.1 is the toolkit's stub, not the driver's library",
            "take the toolkit's stubs folder out of LD_LIBRARY_PATH"},
    Meaning{cuda::device_unavailable, "the GPU is held by another process, or closed to all",
            "look at its processes and its compute mode with nvidia-smi -q"},
    Meaning{cuda::no_device, "no GPU is visible",
            "ask Slurm for GPUs, and see what CUDA_VISIBLE_DEVICES and nvidia-smi -L say"},
    Meaning{cuda::invalid_device, "CUDA_VISIBLE_DEVICES names a GPU that is not usable here",
            "compare it with nvidia-smi -L"},
    Meaning{cuda::system_not_ready, "the node is not ready for CUDA yet",
            "start nvidia-fabricmanager, which NVSwitch needs, and see its log"},
    Meaning{cuda::system_driver_mismatch, "libcuda and NVIDIA's kernel module differ in version",
            reload},
    Meaning{cuda::compat_not_supported,
            "this GPU cannot be used with CUDA's forward compatibility package",
            "take the compat folder out of LD_LIBRARY_PATH"},
    Meaning{cuda::unknown, "an unknown error of the driver",
            "see what nvidia-smi and dmesg say on this node, and load the module nvidia-uvm"}};

const Meaning* meaning_of(cuda::Status status) {
    const auto* const found =
        std::find_if(meanings.begin(), meanings.end(),
                     [&](const Meaning& meaning) { return meaning.status == status; });
    return found == meanings.end() ? nullptr : found;
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
    const Meaning* const meaning = meaning_of(status);
    if (meaning == nullptr) {
        return Error{function, text != nullptr ? text : formatted("CUDA error {}", status), ""};
    }
    return Error{function, text != nullptr ? text : meaning->problem, meaning->remedy};
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
