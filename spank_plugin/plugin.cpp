// The symbols that Slurm calls. Each one forwards in a line, through guarded().
#include "spank_access.h"
#include "srun_side.h"
#include "stepd_side.h"

namespace {

using distgpu::guarded;

// The one object that outlives a callback.
struct Plugin {
    std::optional<std::string> option;  // SPEC of the command line, as far as Slurm called back
    distgpu::AllocatorSide allocator;
    distgpu::SrunSide srun;
    distgpu::StepdSide stepd;
};

Plugin& plugin() {
    static Plugin instance;
    return instance;
}

// A callback of slurmstepd, which never fails: that would drain the node, or end this node's part
// of the step alone. What goes wrong is told by a task, which can end the whole.
template <class Callback>
int in_stepd(const char* name, Callback&& callback) {
    guarded(callback, [name](const char* what) { plugin().stepd.broke(name, what); });
    return 0;
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
    return guarded("init", [&] {
        if (spank_context() == S_CTX_LOCAL) plugin().srun.started();
        return distgpu::register_option(spank, on_option);
    });
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    const char* const name = "init_post_opt";
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return guarded(name, [&] {
                return plugin().srun.options_read(plugin().option,
                                                  {av, static_cast<std::size_t>(ac)});
            });
        case S_CTX_ALLOCATOR:
            return guarded(name, [] { return plugin().allocator.options_read(plugin().option); });
        case S_CTX_REMOTE:
            return in_stepd(name, [&] {
                return plugin().stepd.options_read(spank, plugin().option,
                                                   {av, static_cast<std::size_t>(ac)});
            });
        default:
            return 0;
    }
}

int slurm_spank_local_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("local_user_init", [&] { return plugin().srun.step_created(spank); });
}

int slurm_spank_exit(spank_t /*spank*/, int /*ac*/, char** /*av*/) {
    if (spank_context() != S_CTX_LOCAL) return 0;
    return guarded("exit", [] { return plugin().srun.step_ended(); });
}

int slurm_spank_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return in_stepd("user_init", [&] { return plugin().stepd.before_tasks(spank); });
}

int slurm_spank_task_post_fork(spank_t spank, int /*ac*/, char** /*av*/) {
    // The tasks are forked, and would not hear of a failure.
    guarded("task_post_fork", [&] { return plugin().stepd.task_forked(spank); });
    return 0;
}

int slurm_spank_task_init_privileged(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("task_init_privileged", [&] { return plugin().stepd.before_container(spank); });
}

int slurm_spank_task_init(spank_t spank, int /*ac*/, char** /*av*/) {
    in_stepd("task_init", [&] { return plugin().stepd.in_task(spank); });
    return guarded("task_init", [&] { return plugin().stepd.end_refused_task(spank); });
}

int slurm_spank_task_exit(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("task_exit", [&] { return plugin().stepd.task_ended(spank); });
}

}  // extern "C"
#pragma GCC visibility pop
