// Runs other programs: for their output, as child processes, or in place of this process.
#pragma once

#include "base/result.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
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

// Starts `program`, looked up in PATH, in a new session.
// Errors (object: the program's name): it cannot be run.
struct StartOptions {
    int output = -1;  // its standard output and error; negative: inherited
    unsigned long open_file_limit = 0;
    int death_signal = SIGKILL;  // sent to it if this process is killed
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
