// A thread's stack of calls, and the tools that read it of another process: py-spy for Python
// (https://github.com/benfred/py-spy), elfutils' eu-stack or gdb for machine code.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct Frame {
    std::string function;
    std::string file{};      // empty: not known, as of machine code
    std::uint32_t line = 0;  // 0: not known

    static void fields(auto& io, auto& it) {  // as of a NodeLook
        io("function", it.function, "file", it.file, "line", it.line);
    }
    bool operator==(const Frame&) const = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 in it for a pointer.
    auto operator<=>(const Frame&) const = default;
};

// The outermost call first. What is not printable ASCII has become '?'.
using Stack = std::vector<Frame>;

// "load_batch (data.py:41)"; of machine code "main".
std::string to_text(const Frame& frame);

// The main thread's, else the first one's, of what `py-spy dump --json` (0.3 and 0.4) printed of
// the process. Nothing: it is something else, or has no thread.
std::optional<Stack> parse_py_spy(std::string_view json, pid_t process);

// Of what `eu-stack -1` or gdb's `bt` printed: lines such as "#3  0x... in main () at f.c:3", or
// without what gdb adds. Frames without a name are left out.
Stack parse_backtrace(std::string_view text);

// Whether a function in it is one that waits for other ranks, whoever wrote it.
bool waits_for_ranks(const Stack& stack);

// Whether a function in it may wait for anything: other ranks, a thread, a message. Of those that
// are not the user's own, by their names.
bool may_wait(const Stack& stack);

// Where a rank is, in a programmer's words: what its own code called, and where.
struct CallSite {
    std::string text;            // "all_reduce (train.py:88)"; empty: not known
    bool is_collective = false;  // a call that waits for other ranks, by its name

    bool operator==(const CallSite&) const = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): as above.
    auto operator<=>(const CallSite&) const = default;
};
CallSite call_site_of(const Stack& stack);

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
