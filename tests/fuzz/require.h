// What must hold for every input: a broken promise ends the fuzzer as a crash does.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace distgpu {

inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

}  // namespace distgpu
