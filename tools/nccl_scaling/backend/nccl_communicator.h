// Collectives of NCCL among some ranks.
#pragma once

#include "backend/backend.h"
#include "backend/gpu.h"

namespace distgpu::scaling {

class NcclCommunicator final : public Communicator {
  public:
    // `token`: one int in GPU memory, for the barrier. The GPU outlives this.
    NcclCommunicator(const Gpu& gpu, nccl::Communicator communicator, Seat seat, std::byte* token)
        : gpu_(gpu), communicator_(communicator), seat_(seat), token_(token) {}

    std::optional<Error> run(const Call& call) override;

    // As long as it is open; before the first collective on the buffer.
    std::optional<Error> register_buffer(std::span<std::byte> buffer);

    // By events on the GPU, of which the Gpu has three at least. So many less one collectives are
    // under way at a time: the GPU never waits for this process, and progress is seen. As a graph:
    // progress is seen at its end.
    Result<std::vector<double>> time(const Call& call, std::uint32_t iterations,
                                     const std::function<void()>& made_progress) override;

    // Also ends where another rank's failure leaves the collective hanging.
    std::optional<Error> synchronize() override;
    std::optional<Error> barrier() override;
    std::optional<Error> close() override;

  private:
    Result<std::vector<double>> time_stream(const Call& call, std::uint32_t iterations,
                                            const std::function<void()>& made_progress);
    Result<std::vector<double>> time_graph(const Call& call, std::uint32_t iterations);
    template <class Query>
    std::optional<Error> await(const char* function, const Query& query);
    nccl::Status start(const Call& call, int type);
    nccl::Status exchange(const Call& call, int type);

    const Gpu& gpu_;
    nccl::Communicator communicator_;
    Seat seat_;
    std::byte* token_;
    std::vector<void*> handles_{};  // of registered buffers
};

}  // namespace distgpu::scaling
