// See measure.h.
#include "run/measure.h"

#include "analysis/bus_bandwidth.h"
#include "run/check.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace distgpu::scaling {

Fault fault_of(const Error& error) {
    return {ExitCode::environment, error.object + ": " + error.problem +
                                       (error.remedy.empty() ? "" : "; " + error.remedy)};
}

std::optional<Fault> fault_if(const std::optional<Error>& error) {
    return error ? std::optional(fault_of(*error)) : std::nullopt;
}

tl::expected<Measurer, Fault> Measurer::make(Backend& backend, Loop loop, std::size_t bytes) {
    Measurer measurer(backend, std::move(loop));
    measurer.image_.resize(bytes);
    for (std::byte** buffer : {&measurer.send_, &measurer.receive_}) {
        const auto memory = backend.allocate(bytes);
        if (!memory) return tl::make_unexpected(fault_of(memory.error()));
        *buffer = *memory;
    }
    return measurer;
}

tl::expected<std::vector<double>, Fault> Measurer::measure(Communicator& group, Seat seat,
                                                           const Subject& operation) {
    const Call call = call_of(operation, seat, send_, receive_);
    // Not between the warm-up and the timed runs: it leaves its own data in the caches.
    if (auto fault = check(group, seat, operation, call)) return tl::make_unexpected(*fault);
    for (std::uint32_t i = 0; i < loop_.warmup; ++i) {
        if (auto fault = run(group, call)) return tl::make_unexpected(*fault);
    }
    std::vector<double> seconds;
    seconds.reserve(loop_.iterations);
    for (std::uint32_t i = 0; i < loop_.iterations; ++i) {
        if (auto fault = fault_if(group.barrier())) return tl::make_unexpected(*fault);
        const auto begin = std::chrono::steady_clock::now();
        if (auto fault = run(group, call)) return tl::make_unexpected(*fault);
        const auto end = std::chrono::steady_clock::now();
        seconds.push_back(std::chrono::duration<double>(end - begin).count());
    }
    return seconds;
}

std::optional<Fault> Measurer::run(Communicator& group, const Call& call) const {
    if (auto fault = fault_if(group.run(call))) return fault;
    if (auto fault = fault_if(group.synchronize())) return fault;
    loop_.made_progress();
    return std::nullopt;
}

// What was there before must not pass for the result: the pattern has no element 0.
std::optional<Fault> Measurer::check(Communicator& group, Seat seat, const Subject& operation,
                                     const Call& call) {
    const std::size_t size = row_of(operation.type).bytes;
    const Extent extent = extent_of(operation, seat.ranks);
    const auto image = std::span(image_).first(operation.bytes);
    const Check known(operation, seat);
    std::fill(image.begin(), image.end(), std::byte{0});
    if (auto fault = fault_if(backend_->upload(receive_, image))) return fault;
    known.fill(image);
    if (auto fault = fault_if(backend_->upload(call.send, image.first(extent.send * size)))) {
        return fault;
    }
    if (auto fault = run(group, call)) return fault;
    const auto result = image.first(extent.receive * size);
    if (auto fault = fault_if(backend_->download(result, call.receive))) return fault;
    if (loop_.corrupt && *loop_.corrupt < extent.receive) {
        result[*loop_.corrupt * size] ^= std::byte{1};
    }
    if (auto wrong = known.first_wrong(result)) return Fault{ExitCode::wrong_data, *wrong};
    return std::nullopt;
}

}  // namespace distgpu::scaling
