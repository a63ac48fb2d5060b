// See step_check.h.
#include "node/step_check.h"

#include "base/exit_code.h"
#include "base/format.h"
#include "node/machine.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

constexpr int cannot_start = 126;
// Stays open in the check, so that its end is the check's.
constexpr int lifeline = 3;

std::vector<std::string> variables(const Environment& environment, bool with_linkers) {
    std::vector<std::string> texts;
    for (const std::string& name : environment.names()) {
        if (!with_linkers && std::string_view(name).starts_with("LD_")) continue;
        if (const auto value = environment.get(name)) texts.push_back(name + "=" + *value);
    }
    return texts;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// In the child of a process that slurmstepd forked while other threads of it may have held any
// lock: system calls only. A process that has joined a container's user namespace may change its
// root there, and finds under the host's no more than its user could open before.
[[noreturn]] void start(char* const* arguments, char* const* environment, int host_root,
                        int write_end) {
    const int nothing = open("/dev/null", O_RDONLY);
    const bool ready = dup2(nothing, STDIN_FILENO) >= 0 &&
                       dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
                       (host_root < 0 || (fchdir(host_root) == 0 && chroot(".") == 0)) &&
                       dup2(write_end, lifeline) >= 0;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    static_cast<void>(signal(SIGPIPE, SIG_DFL));
    syscall(SYS_close_range, lifeline + 1U, ~0U, 0);
    if (ready) execve(arguments[0], arguments, environment);
    _exit(cannot_start);
}

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
    std::vector<std::string> words{check.command, "check", "--gate",
                                   formatted("--timeout={}", check.patience.count())};
    std::vector<std::string> texts = variables(environment, check.keeps_linker);
    const auto arguments = pointers(words);
    const auto variables = pointers(texts);
    std::array<int, 2> ends{-1, -1};
    if (pipe(ends.data()) != 0) return no_check(check, std::strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    const pid_t child = fork();
    if (child == 0) start(arguments.data(), variables.data(), check.host_root, ends[1]);
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
