// See program_beside.h.
#include "node/program_beside.h"

#include <csignal>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

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

}  // namespace

ReadyProgram::ReadyProgram(ProgramBeside program, const Environment& environment)
    : program_(std::move(program)),
      variables_(variables(environment, program_.keeps_linker)),
      arguments_(pointers(program_.words)),
      environment_(pointers(variables_)) {}

// A process that has joined a container's user namespace may change its root there, and finds under
// the host's no more than its user could open before.
void ReadyProgram::become(int file) const {
    const int root = program_.host_root;
    const int nothing = open("/dev/null", O_RDONLY);
    const bool ready = dup2(nothing, STDIN_FILENO) >= 0 &&
                       dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
                       (root < 0 || (fchdir(root) == 0 && chroot(".") == 0)) &&
                       dup2(file, kept_file) >= 0 && fcntl(kept_file, F_SETFD, 0) == 0;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    static_cast<void>(signal(SIGPIPE, SIG_DFL));
    syscall(SYS_close_range, kept_file + 1U, ~0U, 0);
    if (ready) execve(arguments_[0], arguments_.data(), environment_.data());
    _exit(cannot_start);
}

}  // namespace distgpu
