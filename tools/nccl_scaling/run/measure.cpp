#include "run/measure.h"

#include "analysis/collectives.h"
#include "backend/number.h"
#include "base/format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace distgpu::scaling {
namespace {

constexpr std::size_t tile_bytes = std::size_t{1} << 20U;

// Neighbours become unlike.
std::uint64_t mix(std::uint64_t key) {
    constexpr std::uint64_t golden_section = 0x9E3779B97F4A7C15U;  // of 2^64
    key = (key + 1) * golden_section;
    key = (key ^ (key >> 29U)) * golden_section;
    return key ^ (key >> 32U);
}

// Of two buffers that have room for operation.bytes each.
Call call_of(const Subject& operation, Seat seat, std::byte* send, std::byte* receive) {
    const Extent extent = extent_of(operation, seat.ranks);
    const std::size_t own_part = seat.rank * extent.count * row_of(operation.type).bytes;
    Call call{operation.collective, operation.type, extent.count, send, receive};
    if (!operation.in_place) return call;
    call.send = receive;
    if (operation.collective == Collective::all_gather) call.send = receive + own_part;
    if (operation.collective == Collective::reduce_scatter) call.receive = receive + own_part;
    return call;
}

}  // namespace

Check::Check(const Subject& subject, Seat seat)
    : subject_(subject),
      seat_(seat),
      count_(extent_of(subject, seat.ranks).count),
      speakers_(row_of(subject.collective).reduces
                    ? std::min(seat.ranks, exact_integers(subject.type) / 2)
                    : 1),
      largest_(exact_integers(subject.type) / speakers_) {}

std::uint32_t Check::value(std::uint32_t rank, std::size_t element) const {
    const std::uint64_t place = element % period;
    const bool reduces = row_of(subject_.collective).reduces;
    if (reduces && (rank + place) % seat_.ranks >= speakers_) return 0;
    return 1 + static_cast<std::uint32_t>(mix(rank * period + place) % largest_);
}

std::uint32_t Check::sum(std::size_t element) const {
    std::uint32_t all = 0;
    for (std::uint32_t rank = 0; rank < seat_.ranks; ++rank) all += value(rank, element);
    return all;
}

std::uint32_t Check::received(std::size_t element) const {
    switch (subject_.collective) {
        case Collective::all_reduce:
            return sum(element);
        case Collective::reduce_scatter:
            return sum(seat_.rank * count_ + element);
        case Collective::all_gather:
            return value(static_cast<std::uint32_t>(element / count_), element % count_);
        case Collective::all_to_all:
            return value(static_cast<std::uint32_t>(element / count_),
                         seat_.rank * count_ + element % count_);
        case Collective::broadcast:
            return value(0, element);
        case Collective::send_recv:
            break;
    }
    return value((seat_.rank + seat_.ranks - 1) % seat_.ranks, element);
}

std::vector<Piece> checked_pieces(std::size_t elements) {
    constexpr std::size_t most = 64;
    constexpr std::size_t length = 256;
    if (elements <= most * length) return {{0, elements}};
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < most; ++i) {
        pieces.push_back({(elements - length) / (most - 1) * i, length});
    }
    pieces.back().first = elements - length;
    return pieces;
}

Result<Measurer> Measurer::make(Backend& backend, Loop loop, std::size_t bytes) {
    Measurer measurer(backend, std::move(loop));
    for (std::byte** buffer : {&measurer.send_, &measurer.receive_}) {
        const auto memory = backend.allocate(bytes);
        if (!memory) return memory.error();
        *buffer = *memory;
        auto error =
            measurer.fill(*buffer, bytes, std::vector<std::byte>(std::min(bytes, tile_bytes)));
        if (error) return *error;
    }
    return measurer;
}

Result<double> Measurer::warm_up(Communicator& group, Seat seat, const Subject& operation,
                                 bool checked) {
    using Clock = std::chrono::steady_clock;
    const Call call = call_of(operation, seat, send_, receive_);
    // Not between the warm-up and the timed runs: it leaves its own data in the caches.
    if (checked) {
        if (auto error = check(group, seat, operation, call)) return *error;
    }
    auto begin = Clock::now();
    for (std::uint32_t i = 0; i < loop_.warmup; ++i) {
        begin = Clock::now();
        if (auto error = run(group, call)) return *error;
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<std::vector<double>> Measurer::time(Communicator& group, Seat seat, const Subject& operation,
                                           std::uint32_t iterations) const {
    const Call call = call_of(operation, seat, send_, receive_);
    if (auto error = group.barrier()) return *error;
    return group.time(call, iterations, loop_.made_progress);
}

std::optional<Error> Measurer::run(Communicator& group, const Call& call) const {
    if (auto error = group.run(call)) return error;
    if (auto error = group.synchronize()) return error;
    loop_.made_progress();
    return std::nullopt;
}

// What was there before must not pass for the result: no element of that is 0.
std::optional<Error> Measurer::check(Communicator& group, Seat seat, const Subject& operation,
                                     const Call& call) {
    const Check known(operation, seat);
    const Extent extent = extent_of(operation, seat.ranks);
    const std::size_t size = row_of(operation.type).bytes;
    const auto pieces = checked_pieces(extent.receive);
    for (const auto& [first, count] : pieces) {
        const std::vector<std::byte> zeros(count * size);
        if (auto error = backend_->upload(call.receive + first * size, zeros)) {
            return error;
        }
    }
    std::vector<std::byte> sent(std::min(Check::period, extent.send) * size);
    for (std::size_t element = 0; element * size < sent.size(); ++element) {
        store(operation.type, known.sent(element), &sent[element * size]);
    }
    if (auto error = fill(call.send, extent.send * size, std::move(sent))) return error;
    if (auto error = run(group, call)) return error;
    if (loop_.corrupt && *loop_.corrupt < extent.receive) {
        std::array<std::byte, sizeof(float)> element{};
        const auto bytes = std::span(element).first(size);
        std::byte* const place = call.receive + *loop_.corrupt * size;
        if (auto error = backend_->download(bytes, place)) return error;
        element[0] ^= std::byte{1};
        if (auto error = backend_->upload(place, bytes)) return error;
    }
    for (const Piece& piece : pieces) {
        if (auto error = compare(known, operation.type, call.receive, piece)) return error;
    }
    return std::nullopt;
}

// The tile again and again: what is there is doubled by copies within the memory.
std::optional<Error> Measurer::fill(std::byte* to, std::size_t bytes,
                                    std::vector<std::byte> tile) const {
    if (auto error = backend_->upload(to, tile)) return error;
    for (std::size_t done = tile.size(); done < bytes; done *= 2) {
        if (auto error = backend_->copy(to + done, to, std::min(done, bytes - done))) {
            return error;
        }
        loop_.made_progress();
    }
    return std::nullopt;
}

std::optional<Error> Measurer::compare(const Check& known, DataType type, const std::byte* received,
                                       const Piece& piece) const {
    const std::size_t size = row_of(type).bytes;
    std::vector<std::byte> data(piece.count * size);
    if (auto error = backend_->download(data, received + piece.first * size)) return error;
    loop_.made_progress();
    std::array<std::byte, sizeof(float)> right{};
    for (std::size_t i = 0; i < piece.count; ++i) {
        store(type, known.received(piece.first + i), right.data());
        if (std::equal(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size),
                       data.begin() + static_cast<std::ptrdiff_t>(i * size))) {
            continue;
        }
        return Error{wrong_data,
                     formatted("element {} is {}, not {}", piece.first + i,
                               load(type, &data[i * size]), load(type, right.data())),
                     ""};
    }
    return std::nullopt;
}

}  // namespace distgpu::scaling
