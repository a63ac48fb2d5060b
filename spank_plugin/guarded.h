// The C boundary: what every callback goes through on its way into Slurm.
#pragma once

#include "spank_access.h"

#include <exception>

namespace distgpu {

// Runs a callback and gives Slurm its answer: 0, or -1, which every release
// takes for a failure (up to 24.11 a positive value counts as success). No
// exception leaves it: one that reached stepd would end the user's job. What was
// thrown goes to `thrown`, a noexcept function of the text.
template <class Callback, class Thrown>
int guarded(Callback&& callback, Thrown&& thrown) noexcept {
    try {
        return callback() == Outcome::ok ? 0 : -1;
    } catch (const std::exception& failure) {
        thrown(failure.what());
    } catch (...) {
        thrown("unknown exception");
    }
    return -1;
}

// The same for a callback whose failure ends only srun, sbatch or salloc.
template <class Callback>
int guarded(const char* name, Callback&& callback) noexcept {
    return guarded(callback, [name](const char* what) {
        slurm_error("distgpu: %s: %s; please report this", name, what);
    });
}

}  // namespace distgpu
