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

// A hash that gives neighbouring keys unrelated values.
std::uint64_t hash(std::uint64_t key) {
    constexpr std::uint64_t golden_section = 0x9E3779B97F4A7C15U;  // of 2^64
    key = (key + 1) * golden_section;
    key = (key ^ (key >> 29U)) * golden_section;
    return key ^ (key >> 32U);
}

// `send` and `receive` have room for operation.bytes each.
Call make_call(const Operation& operation, GroupRank self, std::byte* send, std::byte* receive) {
    const BufferSizes buffers = buffer_sizes(operation, self.size);
    const std::size_t own_part = self.rank * buffers.count * info_of(operation.type).bytes;
    Call call{operation.collective, operation.type, buffers.count, send, receive};
    if (!operation.in_place) return call;
    call.send = receive;
    if (operation.collective == Collective::all_gather) call.send = receive + own_part;
    if (operation.collective == Collective::reduce_scatter) call.receive = receive + own_part;
    return call;
}

}  // namespace

TestPattern::TestPattern(const Operation& operation, GroupRank self)
    : operation_(operation),
      self_(self),
      count_(buffer_sizes(operation, self.size).count),
      contributors_(info_of(operation.collective).is_reduction
                        ? std::min(self.size, exact_integers(operation.type) / 2)
                        : 1),
      max_value_(exact_integers(operation.type) / contributors_) {}

std::uint32_t TestPattern::value(std::uint32_t rank, std::size_t element) const {
    const std::uint64_t place = element % period;
    const bool is_reduction = info_of(operation_.collective).is_reduction;
    if (is_reduction && (rank + place) % self_.size >= contributors_) return 0;
    return 1 + static_cast<std::uint32_t>(hash(rank * period + place) % max_value_);
}

std::uint32_t TestPattern::sum(std::size_t element) const {
    std::uint32_t all = 0;
    for (std::uint32_t rank = 0; rank < self_.size; ++rank) all += value(rank, element);
    return all;
}

std::uint32_t TestPattern::received(std::size_t element) const {
    switch (operation_.collective) {
        case Collective::all_reduce:
            return sum(element);
        case Collective::reduce_scatter:
            return sum(self_.rank * count_ + element);
        case Collective::all_gather:
            return value(static_cast<std::uint32_t>(element / count_), element % count_);
        case Collective::all_to_all:
            return value(static_cast<std::uint32_t>(element / count_),
                         self_.rank * count_ + element % count_);
        case Collective::broadcast:
            return value(0, element);
        case Collective::send_recv:
            break;
    }
    return value((self_.rank + self_.size - 1) % self_.size, element);
}

std::vector<Piece> pieces_to_check(std::size_t elements) {
    constexpr std::size_t count = 64;
    constexpr std::size_t length = 256;
    if (elements <= count * length) return {{0, elements}};
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < count; ++i) {
        pieces.push_back({(elements - length) / (count - 1) * i, length});
    }
    pieces.back().first = elements - length;
    return pieces;
}

Result<Measurer> Measurer::make(Backend& backend, LoopOptions options, std::size_t bytes) {
    Measurer measurer(backend, std::move(options));
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

Result<double> Measurer::warm_up(Communicator& group, GroupRank self, const Operation& operation,
                                 bool checked) {
    using Clock = std::chrono::steady_clock;
    const Call call = make_call(operation, self, send_, receive_);
    // Before the warm-up, because the check leaves its own data in the caches.
    if (checked) {
        if (auto error = check(group, self, operation, call)) return *error;
    }
    auto begin = Clock::now();
    for (std::uint32_t i = 0; i < options_.warmup; ++i) {
        begin = Clock::now();
        if (auto error = run(group, call)) return *error;
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<std::vector<double>> Measurer::time(Communicator& group, GroupRank self,
                                           const Operation& operation,
                                           std::uint32_t iterations) const {
    const Call call = make_call(operation, self, send_, receive_);
    if (auto error = group.barrier()) return *error;
    return group.time(call, iterations, options_.report_progress);
}

std::optional<Error> Measurer::run(Communicator& group, const Call& call) const {
    if (auto error = group.run(call)) return error;
    if (auto error = group.synchronize()) return error;
    options_.report_progress();
    return std::nullopt;
}

// Clears the receive buffer first, so that old data is not mistaken for the result, in which no
// element is 0.
std::optional<Error> Measurer::check(Communicator& group, GroupRank self,
                                     const Operation& operation, const Call& call) {
    const TestPattern pattern(operation, self);
    const BufferSizes buffers = buffer_sizes(operation, self.size);
    const std::size_t size = info_of(operation.type).bytes;
    const auto pieces = pieces_to_check(buffers.receive);
    for (const auto& [first, count] : pieces) {
        const std::vector<std::byte> zeros(count * size);
        if (auto error = backend_->upload(call.receive + first * size, zeros)) {
            return error;
        }
    }
    std::vector<std::byte> sent(std::min(TestPattern::period, buffers.send) * size);
    for (std::size_t element = 0; element * size < sent.size(); ++element) {
        store_integer(operation.type, pattern.sent(element), &sent[element * size]);
    }
    if (auto error = fill(call.send, buffers.send * size, std::move(sent))) return error;
    if (auto error = run(group, call)) return error;
    if (options_.corrupt_element && *options_.corrupt_element < buffers.receive) {
        std::array<std::byte, sizeof(float)> element{};
        const auto bytes = std::span(element).first(size);
        std::byte* const place = call.receive + *options_.corrupt_element * size;
        if (auto error = backend_->download(bytes, place)) return error;
        element[0] ^= std::byte{1};
        if (auto error = backend_->upload(place, bytes)) return error;
    }
    for (const Piece& piece : pieces) {
        if (auto error = compare(pattern, operation.type, call.receive, piece)) return error;
    }
    return std::nullopt;
}

// Repeats the tile: copies within the memory double the filled part each time.
std::optional<Error> Measurer::fill(std::byte* to, std::size_t bytes,
                                    std::vector<std::byte> tile) const {
    if (auto error = backend_->upload(to, tile)) return error;
    for (std::size_t done = tile.size(); done < bytes; done *= 2) {
        if (auto error = backend_->copy(to + done, to, std::min(done, bytes - done))) {
            return error;
        }
        options_.report_progress();
    }
    return std::nullopt;
}

std::optional<Error> Measurer::compare(const TestPattern& pattern, DataType type,
                                       const std::byte* received, const Piece& piece) const {
    const std::size_t size = info_of(type).bytes;
    std::vector<std::byte> data(piece.count * size);
    if (auto error = backend_->download(data, received + piece.first * size)) return error;
    options_.report_progress();
    std::array<std::byte, sizeof(float)> expected{};
    for (std::size_t i = 0; i < piece.count; ++i) {
        store_integer(type, pattern.received(piece.first + i), expected.data());
        if (std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(size),
                       data.begin() + static_cast<std::ptrdiff_t>(i * size))) {
            continue;
        }
        return Error{
            wrong_data,
            formatted("element {} is {}, not {}", piece.first + i,
                      load_number(type, &data[i * size]), load_number(type, expected.data())),
            ""};
    }
    return std::nullopt;
}

}  // namespace distgpu::scaling
