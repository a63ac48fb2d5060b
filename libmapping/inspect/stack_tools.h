// The tools that read stacks of other processes, and what they print: py-spy for Python
// (https://github.com/benfred/py-spy), elfutils' eu-stack or gdb for machine code.
#pragma once

#include "base/io/programs.h"
#include "base/result.h"
#include "inspect/stack.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct StackTools {
    std::string py_spy{};  // the tools' paths; empty if not found
    std::string eu_stack{};
    std::string gdb{};
    std::string python{};  // the interpreter of an environment in which a process runs, or empty
};

// The programs of the processes, as read_own_program() returns them, each behind the path by which
// it was started if that leads to the same file, as that of a virtual environment does. Asks
// child processes, because a path may lead to a file server that no longer answers; a program
// without an answer within a second is left out.
std::vector<std::string> read_own_programs(const std::vector<pid_t>& pids);

// Searches the folders of `system`, then those of `path`, this process's PATH, and then the folders
// of `programs`, for conda and virtual environments. In the latter, a tool counts only if it
// belongs to the owner of that program, to root or to this process's user, and if not everyone may
// write to the folder. A folder that does not answer within a second is passed over.
StackTools find_stack_tools(std::string_view path, const std::vector<std::string>& programs,
                            std::string_view system = system_folders);

// What py-spy tells of a process: of its main thread, or, while that waits for another one, of the
// thread that is in the user's own code; of several the one that waits for other ranks, or else the
// one with the most frames there. While the main thread waits for an event, a queue or a condition,
// threads that sleep do not count: they look after something else, such as a monitor.
struct PythonStack {
    Stack stack{};
    // A digest of the local variables in the user's own code: it changes when one of them does.
    // Empty if there are none, and of a loop that may only count how often it slept: of the main
    // thread in Event.wait(1), or of another one that sleeps. Leaves out objects without a text of
    // their own, and times.
    std::string variables{};
    bool holds_gil = false;
    // A local variable of the innermost function there is a request to other ranks, of torch or
    // mpi4py, which may be pending.
    bool has_request = false;
    // The path in the innermost variable, of any function, whose name has "lock"; empty if none.
    std::string lock_file{};

    bool operator==(const PythonStack&) const = default;
};

// Parses what `py-spy dump --json` (0.3 and 0.4) printed about the process, with or without
// --locals and --native. nullopt for any other text, or if it has no threads. `sleeping`: as
// sleeping_threads() returns them.
std::optional<PythonStack> parse_py_spy(std::string_view json, pid_t process,
                                        const std::set<pid_t>& sleeping = {});

// Stops the process for some milliseconds, unless `is_stopped_or_blocked`; gives up after 5 s.
// Errors (object: the tool): it was not found, may not trace the process, or failed.
Result<PythonStack> read_python_stack(const StackTools& tools, pid_t pid,
                                      bool is_stopped_or_blocked);

// The same thread with the machine code that Python called, such as a C extension's. Stops the
// process for up to a second.
Result<Stack> read_mixed_stack(const StackTools& tools, pid_t pid);

// The main thread of a process without Python.
Result<Stack> read_native_stack(const StackTools& tools, pid_t pid);

// Explains a tool's error if the kernel did not allow it to trace the process; returns any other
// error unchanged. `yama`: /proc/sys/kernel/yama/ptrace_scope; empty if the kernel has no Yama.
Error explain_stack_error(const Error& error, std::string_view yama);

}  // namespace distgpu
