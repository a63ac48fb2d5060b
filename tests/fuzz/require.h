// What must hold for every input: a broken promise ends the fuzzer as a crash does.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace distgpu {

inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

// What is told a person: one line that cannot steer a terminal nor forge a line of a log.
inline void require_line(std::string_view text) {
    require(!text.empty(), "it has words");
    for (const char c : text) require((c < 0 || c >= ' ') && c != 0x7f, "it is one line");
}

}  // namespace distgpu
