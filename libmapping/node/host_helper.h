// A process of the user that starts programs of the host for a task. It is forked before another
// plugin puts the task into a container, so the kernel denies every process of the container access
// to it and to the programs that it starts: a process inside the container's user namespace, with
// files of the host still open, would be a way out of the container (/proc/PID/root, ptrace).
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"

#include <sys/types.h>

namespace distgpu {

// The descriptor that a helper inherits besides its standard ones.
inline constexpr int helper_fd = 3;

// In a program that a helper has started: calls the handler for the signals that Slurm and users
// send to all processes of a step. They are meant for the task's program, which may take its time
// to end.
void handle_step_signals(void (*handler)(int));

// The exit status of a child that could not exec the program.
inline constexpr int cannot_start_status = 126;

// The user that a process of root becomes for good.
struct HelperUser {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups;
};

// Whether a helper gets the task's LD_* variables. They are for the task's program only, unless
// `distgpu exec` itself was started with them.
enum class LdVariables { removed, kept };

// A program that the helper starts, with the CPUs and limits that the task has at that time.
struct HostProgram {
    std::vector<std::string> words;  // the path of the program first
    const Environment& environment;
    LdVariables ld_variables = LdVariables::removed;
    // Variables of a task for the program to check, if any: NUL-terminated NAME=VALUE entries on
    // its standard input, which is otherwise empty. An image's variables never become the program's
    // environment.
    const Environment* input_variables = nullptr;
};

// The task's end of the connection to the process, which the task's program does not inherit. When
// this end closes, the process ends too, and so does a program that it waits for.
class HostHelper {
  public:
    // In a process that has the cgroup of the task; as root, `user` is the user that the helper
    // becomes. The helper is not a child of this process and has none of its files.
    // Errors: the kernel refused a call.
    static Result<HostHelper> start(const std::optional<HelperUser>& user);

    // Returns the program's status, as from waitpid(); its output goes to this process's standard
    // error. Errors: the program does not exist; it did not end in time and was killed.
    Result<int> run(const HostProgram& program, std::chrono::seconds limit) const;

    // Starts a program and does not wait for it; `inherited` is open in it as helper_fd.
    // Errors: the program does not exist.
    Result<int> start_detached(const HostProgram& program, int inherited) const;

  private:
    explicit HostHelper(int socket) : socket_(socket) {}

    UniqueFd socket_;
};

}  // namespace distgpu
