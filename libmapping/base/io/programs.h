// Other programs: one that is run for its output, and those that this process starts and sees to
// the end of.
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

// What the program wrote on standard output. It has the effective user's rights alone (those of
// root that slurmstepd keeps in reserve are given up), not this process's environment and open
// files, and is killed with its children when its time is over; what a driver keeps from ending is
// left behind after another second. Errors (object: the command): it cannot be started, did not end
// in time, failed (the problem is the last line of its standard error, up to 500 bytes), wrote over
// 16 MiB.
Result<std::string> run_command(const std::vector<std::string>& arguments,
                                std::chrono::milliseconds time_limit);

// Starts `program`, looked up in PATH, in a session of its own.
// Errors (object: the program's name): it cannot be run.
struct StartOptions {
    int output = -1;  // its standard output and error; negative: this process's
    unsigned long open_files = 0;
    int death_signal = SIGKILL;  // what it gets if this process is killed
};
struct NotStarted {
    Error error;
    bool missing = false;  // else: not executable
};
struct Started {
    pid_t pid = -1;
    std::optional<NotStarted> problem{};
};
Started start_program(const std::vector<std::string>& program, const StartOptions& options);

// Becomes the program, looked up in PATH; where it cannot, the errno of why not. Precondition:
// `arguments` is not empty.
int replace_process(const std::vector<std::string>& arguments);

// Raises the soft limit of open files to the hard one, for a rank that holds a connection to every
// other: it is usually 1024. Returns what it was before.
std::uint64_t raise_open_files();

// Memory that slurmstepd and the tasks that it forks share: `size` elements, all zeros, until the
// process ends; null: the kernel refuses.
template <class T>
T* shared_array(std::size_t size) {
    if (size > SIZE_MAX / sizeof(T)) return nullptr;
    void* const memory =
        mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

}  // namespace distgpu
