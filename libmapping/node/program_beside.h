// A program of this machine that a task's own process starts, just before it becomes the user's:
// with the task's variables, and where another plugin has put the task into a container, with the
// host's files.
#pragma once

#include "base/environment.h"

#include <string>
#include <vector>

namespace distgpu {

struct ProgramBeside {
    std::vector<std::string> words;  // the path of the program first
    // A folder, opened before this process went into a container: the root of the file system with
    // the program and its libraries. -1: it is this process's own.
    int host_root = -1;
    // It was started as this process was: LD_LIBRARY_PATH is meant for it too.
    bool keeps_linker = false;
};

// The file that a program beside the task has open besides its standard ones.
inline constexpr int kept_file = 3;

// The status of a child that could not become the program.
inline constexpr int cannot_start = 126;

// What execve() takes, made before the fork: slurmstepd forked this process while other threads of
// it may have held any lock, so that a child is left with system calls.
class ReadyProgram {
  public:
    // With the variables of `environment`, as a rule without the dynamic linker's, which are meant
    // for the task's program.
    ReadyProgram(ProgramBeside program, const Environment& environment);
    ReadyProgram(const ReadyProgram&) = delete;
    ReadyProgram& operator=(const ReadyProgram&) = delete;

    // In a child. Its standard input is empty, its output goes to standard error, and `file` is
    // open as kept_file.
    [[noreturn]] void become(int file) const;

  private:
    ProgramBeside program_;
    std::vector<std::string> variables_;
    std::vector<char*> arguments_;
    std::vector<char*> environment_;
};

}  // namespace distgpu
