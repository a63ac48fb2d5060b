// The symbols that Slurm calls. Each callback forwards through guarded(). Slurm loads the plugin
// into every step: one that does not use distgpu runs nothing but what is here, because code
// elsewhere would have to be mapped into memory first, page by page.
#include "mapping/texts/variables.h"
#include "spank_access.h"
#include "srun_side.h"
#include "stepd_side.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <unistd.h>

namespace {

using distgpu::guarded;

// What a step that uses distgpu keeps between the callbacks.
struct UsedPlugin {
    std::optional<std::string> option;  // SPEC of the command line, once Slurm has passed it
    distgpu::AllocatorSide allocator;
    distgpu::SrunSide srun;
    distgpu::StepdSide stepd;
};

// The only object that outlives a callback.
struct Plugin {
    UsedPlugin* used = nullptr;    // until a callback needs it
    std::uint32_t components = 0;  // of the step, whose options srun has read
} plugin;

int finish_srun() {
    return guarded("exit", [] { return plugin.used->srun.on_exit(); });
}

// Never destroyed, because the kernel frees the memory of a process that ends faster than
// destructors do.
UsedPlugin& use_plugin() {
    if (plugin.used == nullptr) plugin.used = new UsedPlugin;
    return *plugin.used;
}

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

bool is_used(spank_t spank) {
    if (plugin.used != nullptr) return true;
    const spank_context_t context = spank_context();
    char** environment = environ;
    const bool is_remote = context == S_CTX_REMOTE;
    if (is_remote && spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS) return true;
    return (context != S_CTX_LOCAL && !is_remote) || is_in_environment(environment);
}

// Runs a callback of slurmstepd that never fails, because failing would drain the node or end only
// this node's part of the step. A task reports the failure instead, and can end the whole step.
template <class Callback>
int guarded_in_stepd(const char* name, Callback&& callback) {
    guarded(callback,
            [name](const char* what) { use_plugin().stepd.record_exception(name, what); });
    return 0;
}

int on_option(int /*val*/, const char* value, int remote) {
    return guarded("--distgpu",
                   [&] { return distgpu::store_option(use_plugin().option, value, remote != 0); });
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

int init(spank_t spank, std::span<char*> arguments) {
    const char* const name = "init";
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return guarded(name, [] { return use_plugin().srun.on_init(); });
        case S_CTX_ALLOCATOR:
            return guarded(name, [] { return distgpu::AllocatorSide::on_init(); });
        case S_CTX_REMOTE:
            return guarded_in_stepd(name, [&] { return use_plugin().stepd.on_init(spank); });
        case S_CTX_SLURMD:
            return guarded(name, [&] {
                distgpu::on_slurmd_start(arguments);
                return distgpu::Outcome::ok;
            });
        default:
            return 0;
    }
}

int init_post_opt(spank_t spank, std::span<const char* const> arguments) {
    const char* const name = "init_post_opt";
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return guarded(name, [&] {
                UsedPlugin& used = use_plugin();
                return used.srun.on_init_post_opt(used.option, arguments, plugin.components);
            });
        case S_CTX_ALLOCATOR:
            return guarded(name, [&] {
                UsedPlugin& used = use_plugin();
                return used.allocator.on_init_post_opt(used.option, arguments);
            });
        case S_CTX_REMOTE:
            return guarded_in_stepd(name, [&] {
                UsedPlugin& used = use_plugin();
                return used.stepd.on_init_post_opt(spank, used.option, arguments);
            });
        default:
            return 0;
    }
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
    const bool failed = is_used(spank) && init(spank, {av, static_cast<std::size_t>(ac)}) != 0;
    return failed ? -1 : register_option(spank);
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    ++plugin.components;
    return is_used(spank) ? init_post_opt(spank, {av, static_cast<std::size_t>(ac)}) : 0;
}

int slurm_spank_local_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr && !is_in_program_arguments(spank)) return 0;
    const int result =
        guarded("local_user_init", [&] { return use_plugin().srun.on_local_user_init(spank); });
    // What srun receives from now on is reported also if srun ends without slurm_spank_exit().
    if (plugin.used != nullptr) static_cast<void>(std::atexit([] { finish_srun(); }));
    return result;
}

int slurm_spank_exit(spank_t /*spank*/, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr || spank_context() != S_CTX_LOCAL) return 0;
    return finish_srun();
}

int slurm_spank_user_init(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr) return 0;
    return guarded_in_stepd("user_init", [&] { return plugin.used->stepd.on_user_init(spank); });
}

int slurm_spank_task_post_fork(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr) return 0;
    // The tasks are already forked and would not see a recorded failure.
    guarded("task_post_fork", [&] { return plugin.used->stepd.on_task_post_fork(spank); });
    return 0;
}

int slurm_spank_task_init_privileged(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr) return 0;
    return guarded("task_init_privileged",
                   [&] { return plugin.used->stepd.on_task_init_privileged(spank); });
}

int slurm_spank_task_init(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr) return 0;
    guarded_in_stepd("task_init", [&] { return plugin.used->stepd.on_task_init(spank); });
    return guarded("task_init", [&] { return plugin.used->stepd.end_refused_task(spank); });
}

int slurm_spank_task_exit(spank_t spank, int /*ac*/, char** /*av*/) {
    if (plugin.used == nullptr) return 0;
    return guarded("task_exit", [&] { return plugin.used->stepd.on_task_exit(spank); });
}

}  // extern "C"
#pragma GCC visibility pop
