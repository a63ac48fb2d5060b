// A process of the user's that starts programs of this machine for a task. It is forked before
// another plugin puts the task into a container, so that the kernel refuses it and what it starts
// to every process of the container: one inside the container's user namespace, with the host's
// files still open, would be a door between the two (/proc/PID/root, ptrace).
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"

#include <sys/types.h>

namespace distgpu {

// The file that a program has open besides its standard ones.
inline constexpr int kept_file = 3;

// The status of a child that could not become the program.
inline constexpr int cannot_start = 126;

// The user that a process of root's becomes for good.
struct HelperUser {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups;
};

// LD_*: meant for the task's program alone, except where `distgpu exec` was itself started so.
enum class Linker { dropped, kept };

// What the helper starts. It has the task's CPUs and limits, as they are when it is asked for.
struct HostProgram {
    std::vector<std::string> words;  // the path of the program first
    const Environment& environment;
    Linker linker = Linker::dropped;
    // A task's variables, for a program that judges them: as NAME=VALUE, each ended by a NUL, on
    // its standard input, which is empty else. What an image sets is never the program's
    // environment.
    const Environment* judged = nullptr;
};

// The task's end of it, which the task's program does not inherit. With this end the helper ends
// too, and a program that it waits for.
class HostHelper {
  public:
    // In a process that has the cgroup of the task; as root, `user` says whom the helper becomes.
    // It is no child of this process, and has none of its files.
    // Errors: why the kernel refused it.
    static Result<HostHelper> start(const std::optional<HelperUser>& user);

    // The program's status, as waitpid() tells it; its output goes to this process's standard
    // error. Errors: the program is not there; it did not end in time, and was ended.
    Result<int> run(const HostProgram& program, std::chrono::seconds limit) const;

    // Starts a program that is left alone, with `kept` open as kept_file.
    // Errors: the program is not there.
    Result<int> leave(const HostProgram& program, int kept) const;

  private:
    explicit HostHelper(int socket) : socket_(socket) {}

    UniqueFd socket_;
};

}  // namespace distgpu
