#include "node/step_check.h"

#include "base/exit_code.h"
#include "base/format.h"
#include "node/machine.h"

#include <sys/wait.h>
#include <utility>

namespace distgpu {
namespace {

Error no_check(const StepCheck& check, std::string problem) {
    return {formatted("check: {} on {}", check.command, host_name()), std::move(problem),
            "name the command with command=PATH in plugstack.conf, or leave the key check out"};
}

Result<StepVerdict> judge(const StepCheck& check, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == static_cast<int>(ExitCode::done)) return StepVerdict::ready;
    if (code == static_cast<int>(ExitCode::check_failed)) return StepVerdict::not_ready;
    if (code == static_cast<int>(ExitCode::timed_out)) return StepVerdict::incomplete;
    if (code == cannot_start) return no_check(check, "cannot be started");
    if (code < 0) return no_check(check, formatted("ended by signal {}", WTERMSIG(status)));
    return no_check(check, formatted("ended with status {}", code));
}

}  // namespace

Result<StepVerdict> run_step_check(HostHelper& helper, const StepCheck& check,
                                   const Environment& own, const Environment& task) {
    // Longer than the check takes at the most.
    constexpr std::chrono::seconds more{30};
    const HostProgram program{
        .words = {check.command, "check", "--gate", "--variables=/proc/self/fd/0",
                  formatted("--timeout={}", check.patience.count())},
        .environment = own,
        .linker = check.linker,
        .judged = &task,
    };
    const auto status = helper.run(program, check.patience + more);
    if (!status) return no_check(check, status.error().problem);
    return judge(check, *status);
}

}  // namespace distgpu
