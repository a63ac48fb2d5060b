// spank_distgpu_step.so: what a step that uses distgpu does in each of Slurm's callbacks. Each of
// them forwards through guarded().
#include "step_callbacks.h"

#include "srun_side.h"
#include "stepd_side.h"

#include <cstdlib>
#include <new>
#include <span>

namespace {

using distgpu::guarded;

// What the step keeps between the callbacks. Never destroyed, because the kernel frees the memory
// of a process that ends faster than destructors do.
struct Step {
    const char* plugin_file;
    std::optional<std::string> option{};  // SPEC of the command line, once Slurm has passed it
    distgpu::AllocatorSide allocator{};
    distgpu::SrunSide srun{};
    distgpu::StepdSide stepd{};
};

Step* step = nullptr;  // set before the first callback; the only object that outlives one

// Runs a callback of slurmstepd that never fails, because failing would drain the node or end only
// this node's part of the step. A task reports the failure instead, and can end the whole step.
template <class Callback>
int guarded_in_stepd(const char* name, Callback&& callback) {
    guarded(callback, [name](const char* what) { step->stepd.record_exception(name, what); });
    return 0;
}

int on_option(const char* value, int remote) {
    return guarded("--distgpu",
                   [&] { return distgpu::store_option(step->option, value, remote != 0); });
}

int init(spank_t spank, int ac, char** av) {
    const char* const name = "init";
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return guarded(name, [] { return step->srun.on_init(); });
        case S_CTX_ALLOCATOR:
            return guarded(name, [] { return distgpu::AllocatorSide::on_init(); });
        case S_CTX_REMOTE:
            return guarded_in_stepd(name, [&] { return step->stepd.on_init(spank); });
        case S_CTX_SLURMD:
            return guarded(name, [&] {
                distgpu::on_slurmd_start({av, static_cast<std::size_t>(ac)});
                return distgpu::Outcome::ok;
            });
        default:
            return 0;
    }
}

int init_post_opt(spank_t spank, int ac, char** av, std::uint32_t components) {
    const char* const name = "init_post_opt";
    const std::span<const char* const> arguments(av, static_cast<std::size_t>(ac));
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return guarded(name, [&] {
                return step->srun.on_init_post_opt(step->option, arguments, components);
            });
        case S_CTX_ALLOCATOR:
            return guarded(
                name, [&] { return step->allocator.on_init_post_opt(step->option, arguments); });
        case S_CTX_REMOTE:
            return guarded_in_stepd(name, [&] {
                return step->stepd.on_init_post_opt(spank, step->plugin_file, step->option,
                                                    arguments);
            });
        default:
            return 0;
    }
}

int exit_srun() {
    return guarded("exit", [] { return step->srun.on_exit(); });
}

int local_user_init(spank_t spank) {
    const int result = guarded(
        "local_user_init", [&] { return step->srun.on_local_user_init(spank, step->plugin_file); });
    // What srun receives from now on is reported also if srun ends without slurm_spank_exit().
    static_cast<void>(std::atexit([] { exit_srun(); }));
    return result;
}

int user_init(spank_t spank) {
    return guarded_in_stepd("user_init", [&] { return step->stepd.on_user_init(spank); });
}

int task_post_fork(spank_t spank) {
    // The tasks are already forked and would not see a recorded failure.
    guarded("task_post_fork", [&] { return step->stepd.on_task_post_fork(spank); });
    return 0;
}

int task_init_privileged(spank_t spank) {
    return guarded("task_init_privileged",
                   [&] { return step->stepd.on_task_init_privileged(spank); });
}

int task_init(spank_t spank) {
    guarded_in_stepd("task_init", [&] { return step->stepd.on_task_init(spank); });
    return guarded("task_init", [&] { return step->stepd.end_refused_task(spank); });
}

int task_exit(spank_t spank) {
    return guarded("task_exit", [&] { return step->stepd.on_task_exit(spank); });
}

}  // namespace

// The build hides all other symbols.
#pragma GCC visibility push(default)
const StepCallbacks* distgpu_load_step(const char* plugin_file) noexcept {
    static constexpr StepCallbacks callbacks{
        .size = sizeof(StepCallbacks),
        .on_option = on_option,
        .init = init,
        .init_post_opt = init_post_opt,
        .local_user_init = local_user_init,
        .exit_srun = exit_srun,
        .user_init = user_init,
        .task_post_fork = task_post_fork,
        .task_init_privileged = task_init_privileged,
        .task_init = task_init,
        .task_exit = task_exit,
    };
    step = new (std::nothrow) Step{plugin_file};
    return step == nullptr ? nullptr : &callbacks;
}
#pragma GCC visibility pop
