#include "backend/timed_graph.h"

namespace distgpu::scaling {

TimedGraph::~TimedGraph() {
    if (executable_ != nullptr) gpu_.cuda.destroy_executable_graph(executable_);
    if (graph_ != nullptr) gpu_.cuda.destroy_graph(graph_);
    for (const cuda::Event event : events_) gpu_.cuda.destroy_event(event);
}

// An event of a capture serves only within its graph, unless it is external.
std::optional<Error> TimedGraph::mark() {
    cuda::Event event = nullptr;
    if (auto error = gpu_.error_of(gpu_.cuda.create_event(&event, 0), "cuEventCreate")) {
        return error;
    }
    events_.push_back(event);
    return gpu_.error_of(gpu_.cuda.record_event_with(event, gpu_.stream, cuda::external_event),
                         "cuEventRecordWithFlags");
}

// NCCL's own threads call CUDA too, and must not fail meanwhile: hence of this thread only.
std::optional<Error> TimedGraph::capture(std::uint32_t iterations,
                                         const std::function<std::optional<Error>()>& work) {
    const cuda::Driver& cuda = gpu_.cuda;
    auto error = gpu_.error_of(cuda.begin_capture(gpu_.stream, cuda::capture_of_thread),
                               "cuStreamBeginCapture");
    if (!error) error = mark();
    for (std::uint32_t i = 0; i < iterations && !error; ++i) {
        error = work();
        if (!error) error = mark();
    }
    if (error) return error;
    error = gpu_.error_of(cuda.end_capture(gpu_.stream, &graph_), "cuStreamEndCapture");
    if (error) return error;
    return gpu_.error_of(cuda.instantiate_graph(&executable_, graph_, 0),
                         "cuGraphInstantiateWithFlags");
}

std::optional<Error> TimedGraph::launch() const {
    return gpu_.error_of(gpu_.cuda.launch_graph(executable_, gpu_.stream), "cuGraphLaunch");
}

Result<std::vector<double>> TimedGraph::ends() const {
    std::vector<double> ends;
    double end = 0;
    for (std::size_t i = 1; i < events_.size(); ++i) {
        float milliseconds = 0;
        const auto status = gpu_.cuda.elapsed(&milliseconds, events_[i - 1], events_[i]);
        if (auto error = gpu_.error_of(status, "cuEventElapsedTime")) return *error;
        end += milliseconds / 1000.0;
        ends.push_back(end);
    }
    return ends;
}

}  // namespace distgpu::scaling
