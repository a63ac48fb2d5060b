// SPANK's items and environment as C++ values, and facts about the process that loaded the plugin.
#pragma once

// spank.h declares the callbacks outside its own extern "C" block.
extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <exception>
#include <string_view>
#include <sys/types.h>

namespace distgpu {

// The result that a callback reports to Slurm.
enum class Outcome { ok, refused };

// Batch, interactive and extern steps do not run the user's tasks: SLURM_INTERACTIVE_STEP
// 0xfffffffa, SLURM_BATCH_SCRIPT 0xfffffffb and SLURM_EXTERN_CONT 0xfffffffc in slurm.h.
constexpr bool is_special_step(std::uint32_t step) {
    return step >= 0xfffffffa;
}

// An item of type uint32_t; nullopt if this context or release lacks it.
std::optional<std::uint32_t> read_item(spank_t spank, spank_item_t which);

// The program and its arguments as srun got them; empty if not available.
std::vector<std::string> program_arguments(spank_t spank);

// Whether this release lets a plugin prepend words to a task's command line.
inline constexpr bool can_prepend_to_program = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0);

// In task_init: prepends them; the first one is a path. False if Slurm did not accept them.
bool prepend_to_program(spank_t spank, const std::vector<std::string>& words);

// Prints one line to the step's standard error, if this callback's output reaches it.
void print_to_user(const std::string& line);

// The step's environment (only in stepd); in a task's callback, that of the task. A user may have
// forged it: check every value before use.
class StepVariables : public Environment {
  public:
    explicit StepVariables(spank_t spank) : spank_(spank) {}

    std::optional<std::string> get(const std::string& name) const override;
    bool set(const std::string& name, const std::string& value) override;
    void unset(const std::string& name) override;
    std::vector<std::string> names() const override;

    // All variables. For a reader of many: each get() goes through the environment anew.
    EnvironmentCopy copy() const;

  private:
    char** environment() const;  // ends with a null pointer; itself null if Slurm does not have it

    spank_t spank_;
};

// A variable of this process's environment; empty if unset.
std::string process_variable(const char* variable);

// The command line of this process; empty if /proc does not show it.
std::vector<std::string> own_command_line();

// Identifies the file system that a process has at '/'. It changes when an earlier plugin puts
// slurmstepd into a jail (init_post_opt), or pyxis a task into its container (task_init).
using FileRoot = std::pair<dev_t, ino_t>;

// That of this process; all 0 if it cannot be read.
FileRoot file_root();

// Whether the plugin with this path was loaded before the one whose file has this name: Slurm loads
// and calls plugins in the order of plugstack.conf.
bool is_loaded_before(const char* plugin_file, std::string_view file_name);

// Prints to the standard error of srun, sbatch or salloc.
inline void print_error(const Error& error) {
    slurm_error("%s", error.message().c_str());
}
inline Outcome refuse(const Error& error) {
    print_error(error);
    return Outcome::refused;
}

// ---- The C boundary, through which every callback returns to Slurm

// Runs a callback and returns its status for Slurm: 0, or -1, which every release treats as failure
// (up to 24.11 a positive value counts as success). No exception leaves it: one that reached stepd
// would end the user's job. Passes an exception's text to `on_exception`, a noexcept function.
template <class Callback, class OnException>
int guarded(Callback&& callback, OnException&& on_exception) noexcept {
    try {
        return callback() == Outcome::ok ? 0 : -1;
    } catch (const std::exception& failure) {
        on_exception(failure.what());
    } catch (...) {
        on_exception("unknown exception");
    }
    return -1;
}

// The same for a callback whose failure ends only srun, sbatch or salloc.
template <class Callback>
int guarded(const char* name, Callback&& callback) noexcept {
    return guarded(callback, [name](const char* what) {
        slurm_error("distgpu: %s: %s; please report this", name, what);
    });
}

}  // namespace distgpu
