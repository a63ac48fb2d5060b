// See step_watch.h.
#include "node/step_watch.h"

#include "base/format.h"
#include "node/machine.h"
#include "node/program_beside.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

Error no_watch(const StepWatch& watch, std::string problem) {
    return {formatted("watch={}: {} on {}", to_string(watch.watch), watch.command, host_name()),
            std::move(problem), "the step goes on without"};
}

// Below the host's root, where this process has another.
bool is_there(const StepWatch& watch) {
    if (watch.host_root < 0) return access(watch.command.c_str(), X_OK) == 0;
    const std::size_t begin = watch.command.find_first_not_of('/');
    return begin != std::string::npos &&
           faccessat(watch.host_root, watch.command.c_str() + begin, X_OK, 0) == 0;
}

// In the child of this process, whose end makes the other an orphan at once.
[[noreturn]] void start_orphan(const ReadyProgram& program, int task) {
    // What the user's program sends to its own process group is not meant for it.
    setsid();
    if (fork() == 0) program.become(task);
    _exit(0);
}

}  // namespace

void allow_looks() {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

Result<std::monostate> start_step_watch(const StepWatch& watch, const Environment& environment) {
    if (!is_there(watch)) return no_watch(watch, "cannot be started");
    const auto task = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    if (task < 0) return no_watch(watch, formatted("needs Linux 5.3: {}", std::strerror(errno)));
    const ReadyProgram program(
        {{watch.command, "why", watch.step, "--watch",
          formatted("{}m{}", watch.watch.minutes, watch.watch.ends ? ":end" : "")},
         watch.host_root,
         watch.keeps_linker},
        environment);
    const pid_t child = fork();
    if (child == 0) start_orphan(program, task);
    const int problem = errno;
    close(task);
    if (child < 0) return no_watch(watch, std::strerror(problem));
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return std::monostate{};
}

}  // namespace distgpu
