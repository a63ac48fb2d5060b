// The C boundary: what every callback goes through on its way into Slurm.
#pragma once

#include "spank_access.h"

#include <exception>

namespace distgpu {

// Runs a callback and gives Slurm its answer: 0, or -1, which every release
// takes for a failure (up to 24.11 a positive value counts as success). No
// exception leaves it: one that reached stepd would end the user's job.
template <class Callback>
int guarded(const char* name, Callback&& callback) noexcept {
    try {
        return callback() == Outcome::ok ? 0 : -1;
    } catch (const std::exception& failure) {
        slurm_error("distgpu: %s: %s; please report this", name, failure.what());
    } catch (...) {
        slurm_error("distgpu: %s: unknown exception; please report this", name);
    }
    return -1;
}

}  // namespace distgpu
