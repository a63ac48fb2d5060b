#include "node/step_watch.h"

#include "base/format.h"
#include "node/machine.h"

#include <cerrno>
#include <cstring>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

Error no_watch(const StepWatch& watch, std::string problem) {
    return {formatted("watch={}: {} on {}", to_string(watch.watch), watch.command, host_name()),
            std::move(problem), "the step goes on without"};
}

}  // namespace

void allow_looks() {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

Result<std::monostate> start_step_watch(HostHelper& helper, const StepWatch& watch,
                                        const Environment& environment) {
    const auto task = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    if (task < 0) return no_watch(watch, formatted("needs Linux 5.3: {}", std::strerror(errno)));
    const HostProgram program{
        .words = {watch.command, "why", watch.step, "--watch", to_string(watch.watch, "m")},
        .environment = environment,
        .linker = watch.linker,
    };
    const auto started = helper.leave(program, task);
    close(task);
    if (!started) return no_watch(watch, started.error().problem);
    return std::monostate{};
}

}  // namespace distgpu
