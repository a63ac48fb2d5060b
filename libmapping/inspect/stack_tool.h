// The tools that read another process's stack. No unwinder of our own: py-spy for Python
// (https://github.com/benfred/py-spy), elfutils' eu-stack or gdb for machine code.
#pragma once

#include "base/result.h"
#include "inspect/process_facts.h"
#include "inspect/stack.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct StackTools {
    std::string py_spy;  // their paths; empty: not found
    std::string eu_stack;
    std::string gdb;
};

// In the folders of `path`, this process's own PATH, else beside one of `programs`, as an
// environment of conda has them: there only what the owner of that program, root or this process's
// user put into a folder that not everybody may write to.
StackTools find_stack_tools(std::string_view path, const std::vector<std::string>& programs);

// Of its main thread. Stops the process for some milliseconds, unless it `stands` already, in a
// call that cannot be interrupted or by a signal; gives up after 5 s. Errors (object: the tool): it
// was not found, may not look into the process, or failed.
Result<Stack> read_python_stack(const StackTools& tools, pid_t pid, bool stands);
Result<Stack> read_native_stack(const StackTools& tools, pid_t pid);

// Why the tools are refused, from what one of them said. `yama`:
// /proc/sys/kernel/yama/ptrace_scope; empty: there is none.
Error refused_look(const Error& error, std::string_view yama);

}  // namespace distgpu
