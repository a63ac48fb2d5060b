// See cuda_compute.h.
#include "backend/cuda_compute.h"

#include "backend/compute_image.h"

#include <algorithm>
#include <array>

namespace distgpu::scaling {
namespace {

// More than the GPUs' caches hold: 64 MiB are read and written in about 0.05 ms on an H100, and 64
// multiply-adds for each element take it about as long.
constexpr unsigned long long data_bytes = 64ULL << 20U;
constexpr unsigned threads_of_block = 256;
constexpr unsigned blocks = 4096;  // several for each place on the largest GPU

}  // namespace

Result<std::unique_ptr<Compute>> CudaCompute::make(const Gpu& gpu) {
    std::unique_ptr<CudaCompute> compute(new CudaCompute(gpu));
    if (auto error = compute->prepare()) return *error;
    return std::unique_ptr<Compute>(std::move(compute));
}

std::optional<Error> CudaCompute::prepare() {
    const void* const image = compute_image();
    if (image == nullptr) {
        return Error{"compute kernel", "built without CUDA", "build it on a machine with nvcc"};
    }
    cuda::Module module = nullptr;
    auto error = gpu_.error_of(gpu_.cuda.load_module(&module, image), "cuModuleLoadData");
    if (!error) {
        error = gpu_.error_of(gpu_.cuda.get_function(&kernel_, module, "distgpu_compute"),
                              "cuModuleGetFunction");
    }
    if (!error) {
        error =
            gpu_.error_of(gpu_.cuda.create_stream(&stream_, cuda::non_blocking), "cuStreamCreate");
    }
    if (!error) error = prepare(compute_);
    if (!error) error = prepare(communication_);
    if (error) return error;
    const auto data = gpu_.allocate(data_bytes);
    if (!data) return data.error();
    data_ = address_of(*data);
    return std::nullopt;
}

std::optional<Error> CudaCompute::prepare(Span& span) {
    auto error = gpu_.error_of(gpu_.cuda.create_event(&span.begin, 0), "cuEventCreate");
    return error ? error : gpu_.error_of(gpu_.cuda.create_event(&span.end, 0), "cuEventCreate");
}

Result<Compute::Seconds> CudaCompute::run(std::uint32_t kernels, Communicator* group,
                                          const Call& call) {
    auto error = start(kernels, group, call);
    if (!error && group != nullptr) error = group->synchronize();
    if (!error) error = gpu_.error_of(gpu_.cuda.synchronize_stream(stream_), "cuStreamSynchronize");
    if (error) return *error;
    const auto compute = seconds_of(compute_);
    if (!compute) return compute.error();
    const auto communication = seconds_of(communication_);
    if (!communication) return communication.error();
    return Seconds{*compute, *communication};
}

// The collective comes after the first kernel, so that it finds a GPU at work, and before the
// others, as the queue of launches is finite.
std::optional<Error> CudaCompute::start(std::uint32_t kernels, Communicator* group,
                                        const Call& call) {
    auto error = mark(compute_.begin, stream_);
    if (!error) error = mark(communication_.begin, gpu_.stream);
    if (!error) error = launch(std::min(kernels, 1U));
    if (!error && group != nullptr) error = group->run(call);
    if (!error) error = mark(communication_.end, gpu_.stream);
    if (!error) error = launch(kernels - std::min(kernels, 1U));
    if (!error) error = mark(compute_.end, stream_);
    return error;
}

std::optional<Error> CudaCompute::launch(std::uint32_t kernels) {
    unsigned long long elements = data_bytes / sizeof(float);
    std::array<void*, 2> parameters{&data_, &elements};
    for (std::uint32_t i = 0; i < kernels; ++i) {
        const auto status = gpu_.cuda.launch(kernel_, blocks, 1, 1, threads_of_block, 1, 1, 0,
                                             stream_, parameters.data(), nullptr);
        if (auto error = gpu_.error_of(status, "cuLaunchKernel")) return error;
    }
    return std::nullopt;
}

std::optional<Error> CudaCompute::mark(cuda::Event event, cuda::Stream stream) {
    return gpu_.error_of(gpu_.cuda.record_event(event, stream), "cuEventRecord");
}

Result<double> CudaCompute::seconds_of(const Span& span) {
    float milliseconds = 0;
    const auto status = gpu_.cuda.elapsed(&milliseconds, span.begin, span.end);
    if (auto error = gpu_.error_of(status, "cuEventElapsedTime")) return *error;
    return milliseconds / 1000.0;
}

}  // namespace distgpu::scaling
