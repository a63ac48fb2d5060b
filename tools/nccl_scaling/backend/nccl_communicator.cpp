#include "analysis/collectives.h"
#include "backend/gpu.h"

#include <chrono>
#include <thread>

namespace distgpu::scaling {
namespace {

constexpr const char* any_collective = "collective of NCCL";

// A lost rank breaks the connections of the others. The report should name the lost one, so the
// control channel, which polls every tenth of a second, gets time to notice it before the others
// report errors.
constexpr std::chrono::milliseconds lost_rank_grace{500};

}  // namespace

std::optional<Error> NcclCommunicator::run(const Call& call) {
    return gpu_.error_of_nccl(start(call, nccl::type_of(call.type)), any_collective, communicator_);
}

// NCCL's kernel waits for a lost rank forever; only the asynchronous error shows it. Yields because
// NCCL's threads, which move data between the nodes, may need the CPU.
template <class Query>
std::optional<Error> NcclCommunicator::wait_for(const char* function, const Query& query) {
    for (;;) {
        const cuda::Status status = query();
        if (status != cuda::not_ready) return gpu_.error_of(status, function);
        nccl::Status failure = nccl::success;
        const auto status_of_query = gpu_.nccl.async_error(communicator_, &failure);
        if (auto error =
                gpu_.error_of_nccl(status_of_query, "ncclCommGetAsyncError", communicator_)) {
            return error;
        }
        if (failure == nccl::remote_error) std::this_thread::sleep_for(lost_rank_grace);
        if (auto error = gpu_.error_of_nccl(failure, any_collective, communicator_)) return error;
        std::this_thread::yield();
    }
}

std::optional<Error> NcclCommunicator::synchronize() {
    return wait_for("cuStreamQuery", [this] { return gpu_.cuda.query_stream(gpu_.stream); });
}

// The events form a ring: one before the first collective, and one after each.
Result<std::vector<double>> NcclCommunicator::time(const Call& call, std::uint32_t iterations,
                                                   const std::function<void()>& report_progress) {
    const auto event = [&](std::uint32_t i) { return gpu_.events[i % gpu_.events.size()]; };
    const auto record_event = [&](std::uint32_t i) {
        return gpu_.error_of(gpu_.cuda.record_event(event(i), gpu_.stream), "cuEventRecord");
    };
    if (auto error = record_event(0)) return *error;
    std::vector<double> ends;
    ends.reserve(iterations);
    const auto wait_for_next_end = [&]() -> std::optional<Error> {
        const auto i = static_cast<std::uint32_t>(ends.size());
        if (auto error =
                wait_for("cuEventQuery", [&] { return gpu_.cuda.query_event(event(i + 1)); })) {
            return error;
        }
        float milliseconds = 0;
        const auto status = gpu_.cuda.elapsed(&milliseconds, event(i), event(i + 1));
        ends.push_back((ends.empty() ? 0 : ends.back()) + milliseconds / 1000.0);
        report_progress();
        return gpu_.error_of(status, "cuEventElapsedTime");
    };
    const auto max_ahead = static_cast<std::uint32_t>(gpu_.events.size() - 2);
    for (std::uint32_t i = 0; i < iterations; ++i) {
        if (auto error = run(call)) return *error;
        if (auto error = record_event(i + 1)) return *error;
        if (i < max_ahead) continue;
        if (auto error = wait_for_next_end()) return *error;
    }
    while (ends.size() < iterations) {
        if (auto error = wait_for_next_end()) return *error;
    }
    return ends;
}

std::optional<Error> NcclCommunicator::barrier() {
    if (auto error = run({Collective::all_reduce, DataType::f32, 1, token_, token_})) return error;
    return synchronize();
}

std::optional<Error> NcclCommunicator::close() {
    return gpu_.error_of_nccl(gpu_.nccl.destroy(communicator_), "ncclCommDestroy", nullptr);
}

nccl::Status NcclCommunicator::start(const Call& call, int type) {
    const nccl::Library& nccl = gpu_.nccl;
    switch (call.collective) {
        case Collective::all_reduce:
            return nccl.all_reduce(call.send, call.receive, call.count, type, nccl::sum,
                                   communicator_, gpu_.stream);
        case Collective::all_gather:
            return nccl.all_gather(call.send, call.receive, call.count, type, communicator_,
                                   gpu_.stream);
        case Collective::reduce_scatter:
            return nccl.reduce_scatter(call.send, call.receive, call.count, type, nccl::sum,
                                       communicator_, gpu_.stream);
        case Collective::broadcast:
            return nccl.broadcast(call.send, call.receive, call.count, type, 0, communicator_,
                                  gpu_.stream);
        case Collective::all_to_all:
            if (nccl.all_to_all == nullptr) break;
            return nccl.all_to_all(call.send, call.receive, call.count, type, communicator_,
                                   gpu_.stream);
        default:
            break;
    }
    return exchange(call, type);
}

// Sends and receives in one group: for all-to-all, a part to and from each rank; for send-recv, to
// the next rank and from the previous one.
nccl::Status NcclCommunicator::exchange(const Call& call, int type) {
    const nccl::Library& nccl = gpu_.nccl;
    const bool to_all = call.collective == Collective::all_to_all;
    const std::size_t part = to_all ? call.count * info_of(call.type).bytes : 0;
    nccl.group_start();
    for (std::uint32_t peer = 0; peer < self_.size; ++peer) {
        if (to_all || peer == (self_.rank + 1) % self_.size) {
            nccl.send(call.send + peer * part, call.count, type, static_cast<int>(peer),
                      communicator_, gpu_.stream);
        }
        if (to_all || self_.rank == (peer + 1) % self_.size) {
            nccl.receive(call.receive + peer * part, call.count, type, static_cast<int>(peer),
                         communicator_, gpu_.stream);
        }
    }
    return nccl.group_end();  // also returns the errors within the group
}

}  // namespace distgpu::scaling
