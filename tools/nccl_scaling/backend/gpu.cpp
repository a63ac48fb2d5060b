#include "backend/gpu.h"

#include "base/format.h"

#include <algorithm>
#include <array>
#include <string>

namespace distgpu::scaling {
namespace {

const char* remedy_of(nccl::Status status) {
    switch (status) {
        case nccl::invalid_usage:  // usually two ranks on one GPU
            return "give each task its own GPU; NCCL_DEBUG=INFO shows more";
        case nccl::in_progress:
            return "unset NCCL_COMM_BLOCKING, which makes NCCL's calls return early";
        default:
            return "run again with NCCL_DEBUG=INFO";
    }
}

// For errors that make a GPU unusable. Meanings: CUDA Driver API manual, CUresult.
struct Remedy {
    cuda::Status status;
    const char* text;
};
constexpr const char* reload = "restart the node, or unload and load NVIDIA's kernel module";
constexpr std::array remedies{
    Remedy{cuda::not_initialized, reload},
    Remedy{cuda::stub_library, "remove the toolkit's stubs folder from LD_LIBRARY_PATH"},
    Remedy{cuda::device_unavailable, "check its processes and its compute mode with nvidia-smi -q"},
    Remedy{cuda::no_device,
           "request GPUs from Slurm, and check CUDA_VISIBLE_DEVICES and nvidia-smi -L"},
    Remedy{cuda::invalid_device, "compare CUDA_VISIBLE_DEVICES with nvidia-smi -L"},
    Remedy{cuda::system_not_ready,
           "start nvidia-fabricmanager, which NVSwitch needs, and check its log"},
    Remedy{cuda::system_driver_mismatch, reload},
    Remedy{cuda::compat_not_supported, "remove the compat folder from LD_LIBRARY_PATH"},
    Remedy{cuda::unknown,
           "check nvidia-smi and dmesg on this node, and load the kernel module nvidia-uvm"}};

// Joins the lines of NCCL's text.
std::string one_line(const char* text) {
    std::string line = text != nullptr ? text : "";
    std::ranges::replace(line, '\n', ' ');
    return line;
}

}  // namespace

std::string nccl::version_text(int version) {
    return formatted("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::optional<Error> Gpu::error_of(cuda::Status status, const char* function) const {
    if (status == cuda::success) return std::nullopt;
    const char* text = nullptr;
    cuda.error_string(status, &text);
    std::string problem = text != nullptr ? text : formatted("CUDA error {}", status);
    // The stub library has no error texts.
    if (status == cuda::stub_library) problem = "libcuda.so.1 is the toolkit's stub";
    const auto* const known = std::ranges::find(remedies, status, &Remedy::status);
    return Error{function, problem, known == remedies.end() ? "" : known->text};
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

}  // namespace distgpu::scaling
