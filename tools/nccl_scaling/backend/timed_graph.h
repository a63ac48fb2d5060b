// A loop on a stream as one CUDA graph: captured once, launched as a whole, so that no call of this
// process comes between its iterations. Events within it, which the GPU records as it goes, time
// each of them.
#pragma once

#include "backend/gpu.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace distgpu::scaling {

class TimedGraph {
  public:
    explicit TimedGraph(const Gpu& gpu) : gpu_(gpu) {}
    TimedGraph(const TimedGraph&) = delete;
    TimedGraph& operator=(const TimedGraph&) = delete;
    ~TimedGraph();  // NCCL wants graphs gone before their communicator

    // `work` puts one iteration on the stream.
    std::optional<Error> capture(std::uint32_t iterations,
                                 const std::function<std::optional<Error>()>& work);

    std::optional<Error> launch() const;

    // When the stream is done: the seconds from the begin of the loop to the end of each iteration.
    Result<std::vector<double>> ends() const;

  private:
    std::optional<Error> mark();

    const Gpu& gpu_;
    cuda::Graph graph_ = nullptr;
    cuda::ExecutableGraph executable_ = nullptr;
    std::vector<cuda::Event> events_;  // one before the first iteration, one behind each
};

}  // namespace distgpu::scaling
