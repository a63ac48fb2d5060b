// What `distgpu self-test` tries: one record a probe. Adding one: its record in probes.cpp, and its
// row in all_probes().
#pragma once

#include "base/io/deadline.h"

#include <span>
#include <string>
#include <string_view>

namespace distgpu {

struct ProbeResult {
    enum class State {
        ok,
        absent,  // the command works without it; the text says what does not
        failed,
    };
    State state = State::ok;
    std::string text;
};

struct Probe {
    std::string_view name;
    ProbeResult (*run)(Deadline deadline);
};

std::span<const Probe> all_probes();

}  // namespace distgpu
