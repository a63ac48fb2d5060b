// What /proc tells of one process. Needs no right but that of its user, also where Yama forbids
// ptrace: only programs that made themselves undumpable hide their environment and files.
#pragma once

#include "base/environment_copy.h"
#include "inspect/look.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// /proc/PID/stat (proc(5)).
struct ProcessStat {
    std::string name;  // up to 15 bytes
    char state = '?';  // R, S, D, T, t, Z, ...
    pid_t parent = 0;
    double cpu = 0;                  // seconds, user's and system's
    std::uint64_t ticks = 0;         // the same in clock ticks
    std::uint64_t reaped_ticks = 0;  // of its children that ended and were waited for
    std::uint64_t begin = 0;         // clock ticks since the machine started
    // As waitpid() has it, of one that has ended (state Z); nothing: the kernel does not tell.
    std::optional<int> exit_code{};
};
std::optional<ProcessStat> parse_stat(std::string_view text);
std::optional<ProcessStat> read_stat(pid_t pid);

// How often its main thread went to sleep by itself: voluntary_ctxt_switches of /proc/PID/status.
std::uint64_t read_switches(pid_t pid);

// All zero: it is gone.
Work read_work(pid_t pid);

// Where in the kernel its main thread sleeps; empty: it does not, or the kernel does not tell.
std::string read_wait_channel(pid_t pid);

// Its variable at its start; nothing: not set, or it may not be read.
class StartEnvironment {
  public:
    explicit StartEnvironment(pid_t pid);
    std::optional<std::string> get(std::string_view name) const;
    EnvironmentCopy variables() const;  // all of them; of a name that stands twice the first
    bool is_readable() const { return is_readable_; }

  private:
    std::string text_;
    bool is_readable_ = false;
};

// Its words, joined; up to 200 bytes.
std::string read_command(pid_t pid);

// The program's file: "/usr/bin/python3.11". Empty: it may not be read.
std::string read_program(pid_t pid);

// Its effective user. Nothing: it is gone.
std::optional<uid_t> read_owner(pid_t pid);

// The program's file, if its path means the same file to this process: both have the same user,
// root folder, user namespace and mount namespace, and the path leads to the file that runs. Empty
// otherwise: a process in a container, or one whose file was replaced, names what it likes.
std::string read_own_program(pid_t pid);

// All processes of the machine that can be seen.
std::vector<pid_t> list_processes();

}  // namespace distgpu
