// The tools that read another process's stack. No unwinder of our own: py-spy for Python
// (https://github.com/benfred/py-spy), elfutils' eu-stack or gdb for machine code.
#pragma once

#include "base/result.h"
#include "why/process_facts.h"
#include "why/stack.h"

#include <string>
#include <vector>

namespace distgpu {

struct StackTools {
    std::string py_spy;  // their paths; empty: not found
    std::string eu_stack;
    std::string gdb;
};

// In the folders of `paths`, each as PATH has them, one after the other.
StackTools find_stack_tools(const std::vector<std::string>& paths);

// Of its main thread. Stops the process for some milliseconds, unless it `stands` already, in a
// call that cannot be interrupted or by a signal; gives up after 5 s. Errors (object: the tool): it
// was not found, may not look into the process, or failed.
Result<Stack> read_python_stack(const StackTools& tools, pid_t pid, bool stands);
Result<Stack> read_native_stack(const StackTools& tools, pid_t pid);

// Why the tools are refused, from what one of them said. `yama`:
// /proc/sys/kernel/yama/ptrace_scope; empty: there is none.
Error refused_look(const Error& error, std::string_view yama);

}  // namespace distgpu
