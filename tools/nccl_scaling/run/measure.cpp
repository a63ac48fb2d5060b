#include "run/measure.h"

#include "analysis/bus_bandwidth.h"
#include "backend/number.h"
#include "base/format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace distgpu::scaling {
namespace {

// What is written and compared between two signs of progress: a fraction of a second, also where
// one CPU does it. A multiple of every type's size.
constexpr std::size_t slice = std::size_t{256} << 20U;

constexpr std::array<std::byte, 4096> zeros{};
constexpr Repeated nothing{zeros, 0};

// Calls `work(place, bytes)` for each slice until it returns something.
template <class Work>
std::optional<Fault> for_slices(std::size_t bytes, const Work& work) {
    for (std::size_t at = 0; at < bytes; at += slice) {
        if (auto fault = work(at, std::min(slice, bytes - at))) return fault;
    }
    return std::nullopt;
}

}  // namespace

Fault fault_of(const Error& error) {
    return {ExitCode::environment, error.object + ": " + error.problem +
                                       (error.remedy.empty() ? "" : "; " + error.remedy)};
}

std::optional<Fault> fault_if(const std::optional<Error>& error) {
    return error ? std::optional(fault_of(*error)) : std::nullopt;
}

tl::expected<Measurer, Fault> Measurer::make(Backend& backend, Loop loop, std::size_t bytes) {
    Measurer measurer(backend, std::move(loop), bytes);
    for (std::byte** buffer : {&measurer.send_, &measurer.receive_}) {
        const auto memory = backend.allocate(bytes);
        if (!memory) return tl::make_unexpected(fault_of(memory.error()));
        *buffer = *memory;
        if (auto fault = measurer.fill(*buffer, bytes, nothing)) return tl::make_unexpected(*fault);
    }
    return measurer;
}

tl::expected<double, Fault> Measurer::warm_up(Communicator& group, Seat seat,
                                              const Subject& operation, bool checked) {
    using Clock = std::chrono::steady_clock;
    const Call call = call_of(operation, seat, send_, receive_);
    // Not between the warm-up and the timed runs: it leaves its own data in the caches.
    if (checked && Check::is_possible(operation, seat.ranks)) {
        if (auto fault = check(group, seat, operation, call)) return tl::make_unexpected(*fault);
    }
    auto begin = Clock::now();
    for (std::uint32_t i = 0; i < loop_.warmup; ++i) {
        begin = Clock::now();
        if (auto fault = run(group, call)) return tl::make_unexpected(*fault);
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

tl::expected<std::vector<double>, Fault> Measurer::time(Communicator& group, Seat seat,
                                                        const Subject& operation,
                                                        std::uint32_t iterations) const {
    const Call call = call_of(operation, seat, send_, receive_);
    if (auto fault = fault_if(group.barrier())) return tl::make_unexpected(*fault);
    auto ends = group.time(call, iterations, loop_.made_progress);
    if (!ends) return tl::make_unexpected(fault_of(ends.error()));
    return *std::move(ends);
}

Result<Rates> Measurer::copy_rates() const {
    constexpr std::size_t least = std::size_t{64} << 20U;
    if (bytes_ < least) return Rates{};
    if (auto error = backend_->barrier()) return *error;
    return backend_->copy_rates({receive_, bytes_}, send_);
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
    const Check known(operation, seat);
    const KnownData sent = known.sent();
    if (auto fault = fill(receive_, operation.bytes, nothing)) return fault;
    if (auto fault = fill(call.send, sent.bytes, sent.content())) return fault;
    if (auto fault = run(group, call)) return fault;
    const std::size_t size = row_of(operation.type).bytes;
    if (loop_.corrupt && *loop_.corrupt < extent_of(operation, seat.ranks).receive) {
        if (auto fault = corrupt(call.receive + *loop_.corrupt * size)) return fault;
    }
    for (std::uint32_t part = 0; part < known.parts(); ++part) {
        if (auto fault = compare(operation.type, call.receive, known.received(part))) return fault;
    }
    return std::nullopt;
}

std::optional<Fault> Measurer::fill(std::byte* to, std::size_t bytes,
                                    const Repeated& content) const {
    return for_slices(bytes, [&](std::size_t at, std::size_t length) {
        auto error = backend_->fill(to + at, length, {content.table, content.first + at});
        loop_.made_progress();
        return fault_if(error);
    });
}

std::optional<Fault> Measurer::corrupt(std::byte* place) const {
    std::array<std::byte, 1> byte{};
    if (auto error = backend_->download(byte, place)) return fault_of(*error);
    byte[0] ^= std::byte{1};
    return fault_if(backend_->upload(place, byte));
}

std::optional<Fault> Measurer::compare(DataType type, const std::byte* received,
                                       const KnownData& right) const {
    const std::size_t size = row_of(type).bytes;
    const std::byte* const data = received + right.at * size;
    return for_slices(right.bytes, [&](std::size_t at, std::size_t length) -> std::optional<Fault> {
        const auto place =
            backend_->first_difference(data + at, length, {right.table, right.first + at});
        if (!place) return fault_of(place.error());
        loop_.made_progress();
        if (!*place) return std::nullopt;
        const std::size_t element = (at + **place) / size;
        std::array<std::byte, sizeof(std::int64_t)> got{};
        if (auto error = backend_->download(std::span(got).first(size), data + element * size)) {
            return fault_of(*error);
        }
        const auto* const expected =
            &right.table[(right.first + element * size) % right.table.size()];
        return Fault{ExitCode::wrong_data,
                     formatted("wrong data: element {} is {}, not {}", right.at + element,
                               load(type, got.data()), load(type, expected))};
    });
}

}  // namespace distgpu::scaling
