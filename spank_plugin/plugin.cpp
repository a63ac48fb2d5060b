// The symbols that Slurm calls. Each callback forwards through guarded().
#include "spank_access.h"
#include "srun_side.h"
#include "stepd_side.h"

namespace {

using distgpu::guarded;

// The only object that outlives a callback.
struct Plugin {
    std::optional<std::string> option;  // SPEC of the command line, once Slurm has passed it
    distgpu::AllocatorSide allocator;
    distgpu::SrunSide srun;
    distgpu::StepdSide stepd;
};

Plugin& plugin() {
    static Plugin instance;
    return instance;
}

// Runs a callback of slurmstepd that never fails, because failing would drain the node or end only
// this node's part of the step. A task reports the failure instead, and can end the whole step.
template <class Callback>
int guarded_in_stepd(const char* name, Callback&& callback) {
    guarded(callback, [name](const char* what) { plugin().stepd.record_exception(name, what); });
    return 0;
}

int on_option(int /*val*/, const char* value, int remote) {
    return guarded("--distgpu",
                   [&] { return distgpu::store_option(plugin().option, value, remote != 0); });
}

}  // namespace

// Everything else is compiled with hidden visibility.
#pragma GCC visibility push(default)
extern "C" {

extern const char plugin_name[] = "distgpu";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int ac, char** av) {
    if (spank_context() == S_CTX_REMOTE) {
        guarded_in_stepd("init", [&] { return plugin().stepd.on_init(spank); });
    }
    return guarded("init", [&] {
        if (spank_context() == S_CTX_LOCAL) plugin().srun.on_init();
        if (spank_context() == S_CTX_SLURMD) {
            distgpu::on_slurmd_start({av, static_cast<std::size_t>(ac)});
        }
        return distgpu::register_option(spank, on_option);
    });
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    const char* const name = "init_post_opt";
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return guarded(name, [&] {
                return plugin().srun.on_init_post_opt(plugin().option,
                                                      {av, static_cast<std::size_t>(ac)});
            });
        case S_CTX_ALLOCATOR:
            return guarded(name, [&] {
                return plugin().allocator.on_init_post_opt(plugin().option,
                                                           {av, static_cast<std::size_t>(ac)});
            });
        case S_CTX_REMOTE:
            return guarded_in_stepd(name, [&] {
                return plugin().stepd.on_init_post_opt(spank, plugin().option,
                                                       {av, static_cast<std::size_t>(ac)});
            });
        default:
            return 0;
    }
}

int slurm_spank_local_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("local_user_init", [&] { return plugin().srun.on_local_user_init(spank); });
}

int slurm_spank_exit(spank_t /*spank*/, int /*ac*/, char** /*av*/) {
    if (spank_context() != S_CTX_LOCAL) return 0;
    return guarded("exit", [] { return plugin().srun.on_exit(); });
}

int slurm_spank_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded_in_stepd("user_init", [&] { return plugin().stepd.on_user_init(spank); });
}

int slurm_spank_task_post_fork(spank_t spank, int /*ac*/, char** /*av*/) {
    // The tasks are already forked and would not see a recorded failure.
    guarded("task_post_fork", [&] { return plugin().stepd.on_task_post_fork(spank); });
    return 0;
}

int slurm_spank_task_init_privileged(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("task_init_privileged",
                   [&] { return plugin().stepd.on_task_init_privileged(spank); });
}

int slurm_spank_task_init(spank_t spank, int /*ac*/, char** /*av*/) {
    guarded_in_stepd("task_init", [&] { return plugin().stepd.on_task_init(spank); });
    return guarded("task_init", [&] { return plugin().stepd.end_refused_task(spank); });
}

int slurm_spank_task_exit(spank_t spank, int /*ac*/, char** /*av*/) {
    return guarded("task_exit", [&] { return plugin().stepd.on_task_exit(spank); });
}

}  // extern "C"
#pragma GCC visibility pop
