// A plugin whose every callback throws, to see guarded() keep it from Slurm. Its
// arguments in plugstack.conf are the callbacks that throw ("task_init", ...).
#include "spank_access.h"

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

#define CALLBACK(NAME)                                             \
    int slurm_spank_##NAME(spank_t /*spank*/, int ac, char** av) { \
        return run(#NAME, ac, av);                                 \
    }
CALLBACK(init)
CALLBACK(init_post_opt)
CALLBACK(user_init)
CALLBACK(task_init)
CALLBACK(exit)

}  // extern "C"
#pragma GCC visibility pop
