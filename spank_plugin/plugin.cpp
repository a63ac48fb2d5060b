// The symbols that Slurm calls. Each one forwards in a line, through guarded().
#include "allocator_side.h"
#include "guarded.h"
#include "options.h"
#include "spank_access.h"
#include "srun_side.h"
#include "stepd_side.h"

#include <cstddef>

namespace {

using distgpu::guarded;
using distgpu::Outcome;

// The one object that outlives a callback.
struct Plugin {
    distgpu::OptionState option;
    distgpu::SrunSide srun;
    distgpu::StepdSide stepd;
};

Plugin& plugin() {
    static Plugin instance;
    return instance;
}

int on_option(int /*val*/, const char* value, int remote) {
    return guarded("--distgpu",
                   [&] { return distgpu::take_option(plugin().option, value, remote != 0); });
}

}  // namespace

// Everything else is compiled with hidden visibility.
#pragma GCC visibility push(default)
extern "C" {

extern const char plugin_name[] = "distgpu";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("init", [&] { return distgpu::register_option(spank, on_option); });
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    return guarded("init_post_opt", [&] {
        switch (spank_context()) {
            case S_CTX_LOCAL:
                return plugin().srun.options_read(plugin().option);
            case S_CTX_ALLOCATOR:
                return distgpu::hand_on_to_job(plugin().option);
            case S_CTX_REMOTE:
                return plugin().stepd.options_read(spank, plugin().option,
                                                   {av, static_cast<std::size_t>(ac)});
            default:
                return Outcome::ok;
        }
    });
}

int slurm_spank_local_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("local_user_init", [&] { return plugin().srun.step_created(spank); });
}

int slurm_spank_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("user_init", [&] { return plugin().stepd.before_tasks(spank); });
}

int slurm_spank_task_post_fork(spank_t spank, int /*ac*/, char** /*av*/) {
    // A failure here would end the step.
    guarded("task_post_fork", [&] { return plugin().stepd.task_forked(spank); });
    return 0;
}

int slurm_spank_task_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("task_init", [&] { return plugin().stepd.in_task(spank); });
}

int slurm_spank_exit(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("exit", [&] { return plugin().stepd.after_tasks(spank); });
}

}  // extern "C"
#pragma GCC visibility pop
