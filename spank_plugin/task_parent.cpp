#include "base/format.h"
#include "base/io/files.h"
#include "base/io/signal_block.h"
#include "node/host_root.h"
#include "node/prepare_task.h"
#include "node/step_variables.h"
#include "slurm_calls.h"
#include "stepd_side.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

std::string task_parent_path(const EnabledStep& enabled) {
    const std::string& command = enabled.command;
    return command.substr(0, command.rfind('/') + 1) + "../libexec/distgpu/distgpu-task";
}

}  // namespace

bool has_task_parent(const EnabledStep& enabled) {
    // A debugger would attach to the parent.
    return !enabled.sent.debugger && has_task_parent(enabled.request);
}

UniqueFd open_task_parent(const EnabledStep& enabled) {
    if (!has_task_parent(enabled)) return {};
    std::string path = task_parent_path(enabled);
    if (enabled.in_jail) path = path_on_host(path);
    return UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC));
}

std::optional<Error> fork_program(spank_t spank, const EnabledStep& enabled, const UniqueFd& file,
                                  TaskId task) {
    const auto failed = [&](const char* problem) {
        return Error{formatted("signal: {} on {}", task_parent_path(enabled), node_name()), problem,
                     "the program starts without it, and Slurm's signals do not reach its ranks"};
    };
    if (!file.is_open()) return failed("not found; install all files of the package distgpu");
    StepVariables variables(spank);
    const auto name_and_value = [&](const char* name) {
        return formatted("{}={}", name, variables.text(name));
    };
    // By which `distgpu why` finds the process.
    std::array own{name_and_value("SLURM_JOB_ID"), name_and_value("SLURM_STEP_ID"),
                   name_and_value("SLURM_PROCID")};
    const std::array<char*, 4> environment{own[0].data(), own[1].data(), own[2].data(), nullptr};
    Pipe pipe = make_pipe();
    if (!pipe.is_open()) return failed(std::strerror(errno));
    const pid_t parent = getpid();
    // A signal to the process group would otherwise end distgpu-task before it handles signals.
    const SignalBlock block;
    const pid_t program = fork();
    if (program < 0) return failed(std::strerror(errno));
    if (program == 0) {
        // The pipe closes when the parent has become distgpu-task.
        pipe.write = UniqueFd();
        char byte = 0;
        if (read(pipe.read.fd(), &byte, 1) != 0) _exit(EXIT_SUCCESS);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(EXIT_FAILURE);
        variables.set("SLURM_TASK_PID", std::to_string(getpid()));
        return std::nullopt;
    }
    std::array words{std::string("distgpu-task"), std::to_string(program),
                     std::to_string(task.value)};
    const std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(),
                                         nullptr};
    syscall(SYS_execveat, file.fd(), "", arguments.data(), environment.data(), AT_EMPTY_PATH);
    const int problem = errno;
    // This process becomes the program after all.
    write_all(pipe.write.fd(), "x");
    while (waitpid(program, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failed(std::strerror(problem));
}

}  // namespace distgpu
