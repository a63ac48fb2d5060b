// How much memory a piece of work has at a time, counted by the program's own operator new.
#pragma once

#include <cstddef>

namespace distgpu::bench {

std::size_t begin_counting();               // the bytes that are in use now
std::size_t most_since(std::size_t begin);  // above these, at the worst moment

// Of `work`, with its result.
template <class Work>
std::size_t peak_bytes(Work&& work) {
    const std::size_t begin = begin_counting();
    const auto result = work();
    static_cast<void>(result);
    return most_since(begin);
}

}  // namespace distgpu::bench
