// Compute on a GPU, on a stream beside that of the collectives.
#pragma once

#include "backend/backend.h"
#include "backend/gpu.h"

namespace distgpu::scaling {

class CudaCompute final : public Compute {
  public:
    // The GPU outlives this. Errors: built without CUDA; a GPU for which the build has no kernel.
    static Result<std::unique_ptr<Compute>> make(const Gpu& gpu);

    Result<Seconds> run(std::uint32_t kernels, Communicator* group, const Call& call) override;

  private:
    // Of a stream: from when work could have begun to its end.
    struct Span {
        cuda::Event begin = nullptr;
        cuda::Event end = nullptr;
    };

    explicit CudaCompute(const Gpu& gpu) : gpu_(gpu) {}
    std::optional<Error> prepare();
    std::optional<Error> prepare(Span& span);
    std::optional<Error> mark(cuda::Event event, cuda::Stream stream);
    std::optional<Error> launch(std::uint32_t kernels);
    std::optional<Error> start(std::uint32_t kernels, Communicator* group, const Call& call);
    Result<double> seconds_of(const Span& span);

    const Gpu& gpu_;
    cuda::Stream stream_ = nullptr;
    cuda::Function kernel_ = nullptr;
    cuda::Address data_ = 0;
    Span compute_;
    Span communication_;
};

}  // namespace distgpu::scaling
