// A SPANK plugin that loads the real one, passes every callback on to it, and says how long the
// expensive ones took. Its arguments in plugstack.conf: the real plugin's file and arguments.
extern "C" {
#include <slurm/spank.h>
}

#include <slurm/slurm.h>

#include <chrono>
#include <dlfcn.h>

namespace {

using Callback = int(spank_t, int, char**);

// The plugin's own file comes first in its arguments.
int pass_on(const char* name, spank_t spank, int ac, char** av) {
    static void* const plugin = dlopen(av[0], RTLD_NOW);
    auto* const callback =
        plugin == nullptr ? nullptr : reinterpret_cast<Callback*>(dlsym(plugin, name));
    if (callback == nullptr) {
        slurm_error("timing: %s: %s", name, dlerror());
        return -1;
    }
    return callback(spank, ac - 1, av + 1);
}

int timed(const char* name, spank_t spank, int ac, char** av) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const int result = pass_on(name, spank, ac, av);
    const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
    slurm_spank_log("timing: %s %.0f", name, time.count());
    return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

extern const char plugin_name[] = "distgpu";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int ac, char** av) {
    return pass_on(__func__, spank, ac, av);
}
int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    return pass_on(__func__, spank, ac, av);
}
int slurm_spank_local_user_init(spank_t spank, int ac, char** av) {
    return timed(__func__, spank, ac, av);
}
int slurm_spank_user_init(spank_t spank, int ac, char** av) {
    return timed(__func__, spank, ac, av);
}
int slurm_spank_task_post_fork(spank_t spank, int ac, char** av) {
    return pass_on(__func__, spank, ac, av);
}
int slurm_spank_task_init(spank_t spank, int ac, char** av) {
    return timed(__func__, spank, ac, av);
}
int slurm_spank_exit(spank_t spank, int ac, char** av) {
    return pass_on(__func__, spank, ac, av);
}

}  // extern "C"
#pragma GCC visibility pop
