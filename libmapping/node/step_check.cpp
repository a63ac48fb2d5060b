// See step_check.h.
#include "node/step_check.h"

#include "base/exit_code.h"
#include "base/format.h"
#include "node/machine.h"
#include "node/program_beside.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// False: it is still there.
bool wait_for_end(int read_end, std::chrono::milliseconds time) {
    pollfd entry{read_end, POLLIN, 0};
    for (;;) {
        const int ready = poll(&entry, 1, static_cast<int>(time.count()));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

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

Result<StepVerdict> run_step_check(const StepCheck& check, const Environment& environment) {
    const ReadyProgram program(
        {{check.command, "check", "--gate", formatted("--timeout={}", check.patience.count())},
         check.host_root,
         check.keeps_linker},
        environment);
    std::array<int, 2> ends{-1, -1};
    if (pipe(ends.data()) != 0) return no_check(check, std::strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    const pid_t child = fork();
    // The pipe stays open in the check, so that its end is the check's.
    if (child == 0) program.become(ends[1]);
    const int problem = errno;
    close(ends[1]);
    // Longer than the check takes at the most.
    constexpr std::chrono::seconds more{20};
    const bool ended = child > 0 && wait_for_end(ends[0], check.patience + more);
    close(ends[0]);
    if (child < 0) return no_check(check, std::strerror(problem));
    if (!ended) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return no_check(check, std::strerror(errno));
    }
    if (!ended) return no_check(check, "did not end");
    return judge(check, status);
}

}  // namespace distgpu
