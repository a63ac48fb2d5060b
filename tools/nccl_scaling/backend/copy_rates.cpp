#include "backend/copy_rates.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

constexpr std::size_t most_within = std::size_t{1} << 30U;
constexpr std::size_t most_over_pcie = std::size_t{32} << 20U;
constexpr int copies = 6;

// Bytes per second of copies, one right after the other; the first is not timed.
template <class Copy>
Result<std::optional<double>> rate_of(const Gpu& gpu, std::size_t bytes, const char* function,
                                      const Copy& copy) {
    const auto& cuda = gpu.cuda;
    cuda::Event begin = gpu.events[0];
    cuda::Event end = gpu.events[1];
    float milliseconds = 0;
    auto error = gpu.error_of(copy(bytes), function);
    if (!error) error = gpu.error_of(cuda.record_event(begin, gpu.stream), "cuEventRecord");
    for (int i = 0; i < copies && !error; ++i) error = gpu.error_of(copy(bytes), function);
    if (!error) error = gpu.error_of(cuda.record_event(end, gpu.stream), "cuEventRecord");
    if (!error) error = gpu.error_of(cuda.synchronize_stream(gpu.stream), "cuStreamSynchronize");
    if (!error) error = gpu.error_of(cuda.elapsed(&milliseconds, begin, end), "cuEventElapsedTime");
    if (error) return *error;
    if (milliseconds <= 0) return std::optional<double>();
    return std::optional(1e3 * copies * static_cast<double>(bytes) / milliseconds);
}

Result<Rates> measure(const Gpu& gpu, std::span<std::byte> to, const std::byte* from,
                      void* pinned) {
    const cuda::Address there = address_of(to.data());
    const std::size_t over_pcie = std::min(to.size(), most_over_pcie);
    const auto within =
        rate_of(gpu, std::min(to.size(), most_within), "cuMemcpyDtoDAsync", [&](std::size_t bytes) {
            return gpu.cuda.copy_within(there, address_of(from), bytes, gpu.stream);
        });
    if (!within) return within.error();
    const auto to_gpu = rate_of(gpu, over_pcie, "cuMemcpyHtoDAsync", [&](std::size_t bytes) {
        return gpu.cuda.copy_to_device(there, pinned, bytes, gpu.stream);
    });
    if (!to_gpu) return to_gpu.error();
    const auto from_gpu = rate_of(gpu, over_pcie, "cuMemcpyDtoHAsync", [&](std::size_t bytes) {
        return gpu.cuda.copy_to_pinned(pinned, there, bytes, gpu.stream);
    });
    if (!from_gpu) return from_gpu.error();
    Rates rates{*within, *to_gpu, *from_gpu};
    if (rates.memory) *rates.memory *= 2;  // each byte is read and written
    return rates;
}

}  // namespace

// Pinned memory: the GPU reaches other memory of the host only over a copy of it.
Result<Rates> copy_rates(const Gpu& gpu, std::span<std::byte> to, const std::byte* from) {
    void* pinned = nullptr;
    const auto status = gpu.cuda.allocate_pinned(&pinned, std::min(to.size(), most_over_pcie));
    if (auto error = gpu.error_of(status, "cuMemAllocHost")) return *error;
    auto rates = measure(gpu, to, from, pinned);
    if (auto error = gpu.error_of(gpu.cuda.free_pinned(pinned), "cuMemFreeHost")) return *error;
    return rates;
}

}  // namespace distgpu::scaling
