// What the plugin's two files share: Slurm loads spank_distgpu.so (plugin.cpp) into every step, and
// that loads spank_distgpu_step.so (step_callbacks.cpp) into a step that uses distgpu.
#pragma once

#include "spank_access.h"

#include <cstdint>

extern "C" {

// What a step that uses distgpu does in each of Slurm's callbacks. Each function returns what
// slurm_spank_* of the same name returns to Slurm. None of them throws.
struct StepCallbacks {
    // Of this struct: an update replaces one file after the other, and a step may start meanwhile.
    std::uint32_t size;

    // The option's callback.
    int (*on_option)(const char* value, int remote);

    int (*init)(spank_t spank, int ac, char** av);
    // `components`: of the step, whose options srun has read.
    int (*init_post_opt)(spank_t spank, int ac, char** av, std::uint32_t components);
    int (*local_user_init)(spank_t spank);
    int (*exit_srun)();
    int (*user_init)(spank_t spank);
    int (*task_post_fork)(spank_t spank);
    int (*task_init_privileged)(spank_t spank);
    int (*task_init)(spank_t spank);
    int (*task_exit)(spank_t spank);
};

// The only symbol that spank_distgpu_step.so exports. Called once. `plugin_file`: the path by which
// Slurm has loaded spank_distgpu.so; stays valid. Null if there is no memory.
using LoadStep = const StepCallbacks*(const char* plugin_file) noexcept;
LoadStep distgpu_load_step;

}  // extern "C"
