// spank_distgpu.so: the symbols that Slurm calls. Slurm loads this file into every step. A step
// that uses distgpu needs spank_distgpu_step.so too, which this file loads. That one calls 130
// functions of the C library, and the loader needs 40 µs to find them, in srun and in each
// slurmstepd; this one calls few, and none of the C++ library.
#include "mapping/texts/variables.h"
#include "step_callbacks.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace {

// The only object that outlives a callback.
struct Plugin {
    const StepCallbacks* step = nullptr;  // those of spank_distgpu_step.so, once it is loaded
    bool failed = false;                  // it could not be loaded
    std::uint32_t components = 0;         // of the step, whose options srun has read
} plugin;

bool begins_with(const char* text, const char* beginning) {
    return std::strncmp(text, beginning, std::strlen(beginning)) == 0;
}

// Whether a variable mentions distgpu: a request, an allocation's option, or the ranks of the task
// around srun.
bool is_in_environment(char* const* environment) {
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        if (begins_with(*environment, distgpu::spec_variable) ||
            begins_with(*environment, distgpu::inherited_variable)) {
            return true;
        }
    }
    return false;
}

// Whether the option stands after the program, which then gets it instead of distgpu.
bool is_in_program_arguments(spank_t spank) {
    int count = 0;
    char** words = nullptr;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS) return false;
    for (int i = 0; i < count; ++i) {
        if (begins_with(words[i], "--distgpu=")) return true;
    }
    return false;
}

bool is_used(spank_t spank) {
    if (plugin.step != nullptr || plugin.failed) return true;
    char** environment = environ;
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return is_in_environment(environment);
        case S_CTX_REMOTE:
            return spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS ||
                   is_in_environment(environment);
        case S_CTX_ALLOCATOR:
        case S_CTX_SLURMD:
            return true;
        default:
            return false;
    }
}

using Path = std::array<char, PATH_MAX>;

// X_step.so next to the plugin's file X.so, wherever links to that lie. False, with errno, if the
// file is not found.
bool find_step_file(const char* plugin_file, Path& path) {
    constexpr auto ending = std::to_array(".so");
    constexpr auto step_ending = std::to_array("_step.so");
    if (realpath(plugin_file, path.data()) == nullptr) return false;
    std::size_t length = std::strlen(path.data());
    const std::size_t stem = length < ending.size() ? length : length + 1 - ending.size();
    if (std::strcmp(path.data() + stem, ending.data()) == 0) length = stem;
    errno = ENAMETOOLONG;
    if (length + step_ending.size() > path.size()) return false;
    std::memcpy(path.data() + length, step_ending.data(), step_ending.size());
    return true;
}

// Loads the file. Returns what went wrong; null if nothing did.
const char* load_step_file() {
    Dl_info own{};
    Path path{};
    if (dladdr(&plugin, &own) == 0) return "the loader does not name the plugin's file";
    if (!find_step_file(own.dli_fname, path)) return std::strerror(errno);
    void* const library = dlopen(path.data(), RTLD_NOW);
    if (library == nullptr) return dlerror();
    auto* const load = reinterpret_cast<LoadStep*>(dlsym(library, "distgpu_load_step"));
    if (load == nullptr) return dlerror();
    const StepCallbacks* const step = load(own.dli_fname);
    if (step == nullptr) return "no memory";
    if (step->size != sizeof(StepCallbacks)) return "spank_distgpu_step.so is of another version";
    plugin.step = step;
    return nullptr;
}

// False if spank_distgpu_step.so cannot be loaded, which is logged once.
bool load_step() {
    if (plugin.step == nullptr && !plugin.failed) {
        const char* const problem = load_step_file();
        plugin.failed = problem != nullptr;
        if (plugin.failed) {
            slurm_error("distgpu: %s; install the plugin again, whose two files belong together",
                        problem);
        }
    }
    return plugin.step != nullptr;
}

// The status of a callback that cannot load it. srun, sbatch and salloc end. slurmd would end too,
// and slurmstepd would drain the node, so there only the tasks end.
int refuse_to_go_on() {
    const spank_context_t context = spank_context();
    return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR ? -1 : 0;
}

// In a task's process: ends it instead of letting it train alone.
void end_task_without_step(spank_t spank) {
    std::uint32_t step = 0;
    if (spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
        distgpu::is_special_step(step)) {
        return;
    }
    slurm_spank_log(
        "distgpu: the plugin cannot load its file spank_distgpu_step.so on this node; ask the "
        "administrator to install the plugin again");
    _exit(EXIT_FAILURE);
}

int on_option(int /*val*/, const char* value, int remote) {
    // Without it, init_post_opt refuses: here srun would blame the option's value.
    return load_step() ? plugin.step->on_option(value, remote) : 0;
}

int register_option(spank_t spank) {
    const spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) return 0;
    // SPANK's interface takes pointers to non-const char although it copies the texts.
    auto name = std::to_array("distgpu");
    auto placeholder = std::to_array("MODE[,KEY[=VALUE]]...");
    auto usage =
        std::to_array("launch distributed GPU training (--distgpu=help lists modes and keys)");
    constexpr int has_argument = 1;
    spank_option option{name.data(), placeholder.data(), usage.data(), has_argument, 0, on_option};
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS) {
        slurm_error(
            "distgpu: option --distgpu: could not be registered; is the plugin listed "
            "twice in plugstack.conf?");
    }
    return 0;
}

}  // namespace

// The build hides all other symbols.
#pragma GCC visibility push(default)
extern "C" {

extern const char plugin_name[] = "distgpu";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int ac, char** av) {
    const int status = !is_used(spank) ? 0
                       : load_step()   ? plugin.step->init(spank, ac, av)
                                       : refuse_to_go_on();
    return status == 0 ? register_option(spank) : status;
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    ++plugin.components;
    if (!is_used(spank)) return 0;
    return load_step() ? plugin.step->init_post_opt(spank, ac, av, plugin.components)
                       : refuse_to_go_on();
}

int slurm_spank_local_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.step == nullptr && !is_in_program_arguments(spank)) return 0;
    return load_step() ? plugin.step->local_user_init(spank) : 0;
}

int slurm_spank_exit(spank_t /*spank*/, int /*ac*/, char** /*av*/) {
    if (plugin.step == nullptr || spank_context() != S_CTX_LOCAL) return 0;
    return plugin.step->exit_srun();
}

int slurm_spank_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    return plugin.step == nullptr ? 0 : plugin.step->user_init(spank);
}

int slurm_spank_task_post_fork(spank_t spank, int /*ac*/, char** /*av*/) {
    return plugin.step == nullptr ? 0 : plugin.step->task_post_fork(spank);
}

int slurm_spank_task_init_privileged(spank_t spank, int /*ac*/, char** /*av*/) {
    return plugin.step == nullptr ? 0 : plugin.step->task_init_privileged(spank);
}

int slurm_spank_task_init(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.failed) end_task_without_step(spank);
    return plugin.step == nullptr ? 0 : plugin.step->task_init(spank);
}

int slurm_spank_task_exit(spank_t spank, int /*ac*/, char** /*av*/) {
    return plugin.step == nullptr ? 0 : plugin.step->task_exit(spank);
}

}  // extern "C"
#pragma GCC visibility pop
