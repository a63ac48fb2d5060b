// A plugin whose every callback throws, to see guarded() keep it from Slurm. Its
// arguments in plugstack.conf are the callbacks that throw ("task_init", ...).
#include "guarded.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string_view>

namespace {

using distgpu::Outcome;

int run(const char* name, int count, char** arguments) {
    return distgpu::guarded(name, [&] {
        const bool throws = std::any_of(arguments, arguments + count, [name](const char* argument) {
            return std::string_view(argument) == name;
        });
        if (throws && std::string_view(name) == "task_init") throw 17;
        if (throws) throw std::runtime_error("thrown on purpose");
        return Outcome::ok;
    });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

extern const char plugin_name[] = "throws";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t /*spank*/, int ac, char** av) {
    return run("init", ac, av);
}
int slurm_spank_init_post_opt(spank_t /*spank*/, int ac, char** av) {
    return run("init_post_opt", ac, av);
}
int slurm_spank_user_init(spank_t /*spank*/, int ac, char** av) {
    return run("user_init", ac, av);
}
int slurm_spank_task_init(spank_t /*spank*/, int ac, char** av) {
    return run("task_init", ac, av);
}
int slurm_spank_exit(spank_t /*spank*/, int ac, char** av) {
    return run("exit", ac, av);
}

}  // extern "C"
#pragma GCC visibility pop
