// Runs other programs: for their output, as child processes, or in place of this process. Finds
// programs, and makes other calls that may block for ever, in child processes.
#pragma once

#include "base/io/descriptor.h"
#include "base/result.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Runs the program and returns its standard output. It has only the effective user's rights (the
// root ids that slurmstepd keeps as saved ids are dropped), a minimal environment, and none of this
// process's open files. At the time limit it is killed with its children; if a driver keeps it from
// ending, it is abandoned one second later. Errors (object: the command): it cannot be started, did
// not end in time, failed (the problem is the last line of its standard error, up to 500 bytes), or
// wrote more than 16 MiB.
Result<std::string> run_command(const std::vector<std::string>& arguments,
                                std::chrono::milliseconds time_limit);

// Replaces this process by a program whose only variables are a PATH of the system and LC_ALL=C.
// `arguments`: its path first, a null pointer last. Returns on an error. Makes system calls only.
void exec_without_variables(char* const* arguments);

// Makes each call in a child process of its own, all at the same time, and returns their texts;
// nullopt for a call that has not returned by the deadline. For calls such as stat(2), which blocks
// for ever where a file server no longer answers: that child is killed, but not waited for, because
// it ends only when the server answers. A call does not see this process's open files, and must not
// take locks that another thread may hold.
using ChildCall = std::function<std::string()>;
std::vector<std::optional<std::string>> outputs_of_children(std::span<const ChildCall> calls,
                                                            Deadline deadline);
std::optional<std::string> output_of_child(const ChildCall& call, Deadline deadline);

// Whether it is a file that this process may run. May block for ever.
bool is_program(const std::string& file);

// The system's own folders of programs, where a search never blocks for long.
inline constexpr std::string_view system_folders =
    "/usr/bin:/usr/local/bin:/bin:/usr/sbin:/usr/local/sbin:/sbin";

// The path of the first program of each name in the folders of `path`, which ':' separates; empty
// if there is none. Only absolute folders count. Those that are not the system's are searched by
// child processes, and a folder that does not answer within a second is passed over.
std::vector<std::string> find_programs(std::string_view path,
                                       std::span<const std::string_view> names);

// Starts `program`, looked up in PATH, in a new session.
// Errors (object: the program's name): it cannot be run.
struct StartOptions {
    int output = -1;  // its standard output and error; negative: inherited
    std::optional<std::uint64_t> open_file_limit{};  // nullopt: inherited
    int death_signal = SIGKILL;                      // sent to it if this process is killed
};
struct NotStarted {
    Error error;
    bool missing = false;  // false: it exists, but is not executable
};
struct Started {
    pid_t pid = -1;
    std::optional<NotStarted> problem{};
};
Started start_program(const std::vector<std::string>& program, const StartOptions& options);

// Replaces this process by the program, looked up in PATH. Returns errno if that fails.
// Precondition: `arguments` is not empty.
int replace_process(const std::vector<std::string>& arguments);

// "ended with status 1", "was killed by signal 9 (SIGKILL)". `wait_status`: as of wait(2).
std::string ending_text(int wait_status);

// Raises the soft limit of open files, usually 1024, to the hard one, for a rank that has a
// connection to every other rank. Returns the old limit.
std::uint64_t raise_open_file_limit();

// Memory shared by slurmstepd and the tasks that it forks, until the process ends: `size` elements,
// all zeros. Null if the kernel refuses.
template <class T>
T* shared_array(std::size_t size) {
    if (size > SIZE_MAX / sizeof(T)) return nullptr;
    void* const memory =
        mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

}  // namespace distgpu
