// SPANK's items and environment as C++ values, and what the process that loaded the plugin shows.
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

// What a callback reports to Slurm.
enum class Outcome { ok, refused };

// Batch, interactive and extern steps run no tasks of the user's: SLURM_INTERACTIVE_STEP
// 0xfffffffa, SLURM_BATCH_SCRIPT 0xfffffffb and SLURM_EXTERN_CONT 0xfffffffc in slurm.h.
constexpr bool is_special_step(std::uint32_t step) {
    return step >= 0xfffffffa;
}

// An item of type uint32_t; nothing where this context or release lacks it.
std::optional<std::uint32_t> item(spank_t spank, spank_item_t which);

// The program and its arguments as srun got them; empty where not available.
std::vector<std::string> program_arguments(spank_t spank);

// Whether this release lets a plugin put words before a task's program.
inline constexpr bool has_words_in_front = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0);

// In task_init: puts them there; the first one is a path. False: Slurm did not take them.
bool put_in_front(spank_t spank, const std::vector<std::string>& words);

// One line for the user, on the step's standard error, where this callback's output reaches it.
void tell(const std::string& line);

// The step's environment (stepd only); within a task's callback that of the task. A user may have
// forged it: whoever reads it checks what it reads.
class StepVariables : public Environment {
  public:
    explicit StepVariables(spank_t spank) : spank_(spank) {}

    std::optional<std::string> get(const std::string& name) const override;
    bool set(const std::string& name, const std::string& value) override;
    void unset(const std::string& name) override;
    std::vector<std::string> names() const override;

  private:
    spank_t spank_;
};

// A variable of this process's environment; empty when unset.
std::string own_variable(const char* variable);

// The program and its arguments; empty where /proc does not tell.
std::vector<std::string> own_command_line();

// The plugin's own file, as Slurm found it; empty where the loader does not tell.
std::string own_plugin_file();

// Which file system a process has at '/'. A plugin before this one, such as pyxis, puts the task
// into its container, and then it is another than slurmstepd's.
using FileRoot = std::pair<dev_t, ino_t>;

// Of this process; all 0 where it cannot be told.
FileRoot file_root();

// Whether a plugin whose file has this name was loaded after this one: Slurm loads and calls them
// in the order of plugstack.conf.
bool stands_before(std::string_view file_name);

// On the standard error of srun, sbatch or salloc.
inline void complain(const Error& error) {
    slurm_error("%s", error.message().c_str());
}
inline Outcome refuse(const Error& error) {
    complain(error);
    return Outcome::refused;
}

// ---- The C boundary: what every callback goes through on its way into Slurm.

// Runs a callback and gives Slurm its answer: 0, or -1, which every release takes for a failure (up
// to 24.11 a positive value counts as success). No exception leaves it: one that reached stepd
// would end the user's job. What was thrown goes to `thrown`, a noexcept function of the text.
template <class Callback, class Thrown>
int guarded(Callback&& callback, Thrown&& thrown) noexcept {
    try {
        return callback() == Outcome::ok ? 0 : -1;
    } catch (const std::exception& failure) {
        thrown(failure.what());
    } catch (...) {
        thrown("unknown exception");
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
