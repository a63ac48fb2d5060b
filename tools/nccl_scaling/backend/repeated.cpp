#include "backend/repeated.h"

#include "backend/cpus.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace distgpu::scaling {
namespace {

// Less is done sooner by one thread than another one is started.
constexpr std::size_t least_share = std::size_t{1} << 20U;

// Calls `work(begin, end, index)` for equal shares of so many bytes, each on a thread of its own.
template <class Work>
void share_out(std::size_t bytes, std::size_t shares, const Work& work) {
    const auto bound = [&](std::size_t index) { return bytes / shares * index; };
    std::vector<std::jthread> others;
    for (std::size_t index = 1; index < shares; ++index) {
        const std::size_t end = index + 1 == shares ? bytes : bound(index + 1);
        others.emplace_back([&work, &bound, index, end] { work(bound(index), end, index); });
    }
    work(0, shares == 1 ? bytes : bound(1), 0);
}

std::size_t shares_of(std::size_t bytes) {
    static const std::size_t cpus = usable_cpus();
    return std::clamp(bytes / least_share, std::size_t{1}, cpus);
}

// Calls `piece(place in the buffer, of the table)` from `begin` to `end`, until it returns false.
template <class Piece>
void for_pieces(const Repeated& content, std::size_t begin, std::size_t end, const Piece& piece) {
    const std::size_t period = content.table.size();
    while (begin < end) {
        const std::size_t from = (content.first + begin) % period;
        const std::size_t length = std::min(period - from, end - begin);
        if (!piece(begin, content.table.subspan(from, length))) return;
        begin += length;
    }
}

}  // namespace

void fill(std::span<std::byte> buffer, const Repeated& content) {
    const auto work = [&](std::size_t begin, std::size_t end, std::size_t /*index*/) {
        for_pieces(content, begin, end, [&](std::size_t at, std::span<const std::byte> table) {
            std::memcpy(&buffer[at], table.data(), table.size());
            return true;
        });
    };
    share_out(buffer.size(), shares_of(buffer.size()), work);
}

std::optional<std::size_t> first_difference(std::span<const std::byte> buffer,
                                            const Repeated& content) {
    const std::size_t shares = shares_of(buffer.size());
    std::vector<std::size_t> found(shares, buffer.size());
    const auto work = [&](std::size_t begin, std::size_t end, std::size_t index) {
        for_pieces(content, begin, end, [&](std::size_t at, std::span<const std::byte> table) {
            if (std::memcmp(&buffer[at], table.data(), table.size()) == 0) return true;
            const auto part = buffer.subspan(at, table.size());
            const auto differs = std::mismatch(part.begin(), part.end(), table.begin()).first;
            found[index] = at + static_cast<std::size_t>(differs - part.begin());
            return false;
        });
    };
    share_out(buffer.size(), shares, work);
    const std::size_t first = *std::min_element(found.begin(), found.end());
    return first < buffer.size() ? std::optional(first) : std::nullopt;
}

}  // namespace distgpu::scaling
