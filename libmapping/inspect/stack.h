// Call stacks of other processes, and the tools that read them: py-spy for Python
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
    std::string file{};      // empty if unknown, as for machine code
    std::uint32_t line = 0;  // 0 if unknown

    static void fields(auto& io, auto& it) {  // in a NodeSample
        io("function", it.function, "file", it.file, "line", it.line);
    }
    bool operator==(const Frame&) const = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 in it for a pointer.
    auto operator<=>(const Frame&) const = default;
};

// The outermost call first. Bytes that are not printable ASCII are replaced by '?'.
using Stack = std::vector<Frame>;

// "load_batch (data.py:41)"; "main" for machine code.
std::string to_text(const Frame& frame);

// Parses what `py-spy dump --json` (0.3 and 0.4) printed about the process: the stack of the main
// thread, or of the first one if there is no main thread. nullopt for any other text, or if it has
// no threads.
std::optional<Stack> parse_py_spy(std::string_view json, pid_t process);

// Parses what `eu-stack -1` or gdb's `bt` printed: lines such as "#3  0x... in main () at f.c:3",
// without the parts that only gdb prints. Frames without a name are skipped.
Stack parse_backtrace(std::string_view text);

// Whether a function in it, in the user's code or not, has a name that waits for other ranks.
bool waits_for_ranks(const Stack& stack);

// Whether a function outside the user's code may wait for anything, by its name: other ranks, a
// thread, a message.
bool may_wait(const Stack& stack);

// Where a rank is in its own code: what that code called, and from which line.
struct CallSite {
    std::string text;            // "all_reduce (train.py:88)"; empty if unknown
    bool is_collective = false;  // the function's name is one that waits for other ranks

    bool operator==(const CallSite&) const = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): as above.
    auto operator<=>(const CallSite&) const = default;
};
CallSite call_site_of(const Stack& stack);

struct StackTools {
    std::string py_spy;  // the tools' paths; empty if not found
    std::string eu_stack;
    std::string gdb;
};

// Searches the folders of `path`, this process's PATH, and then the folders of `programs`, for
// conda environments. In the latter, a tool counts only if it belongs to the owner of that program,
// to root or to this process's user, and if not everyone may write to the folder.
StackTools find_stack_tools(std::string_view path, const std::vector<std::string>& programs);

// Reads the main thread's stack. Stops the process for some milliseconds, unless
// `is_stopped_or_blocked`; gives up after 5 s. Errors (object: the tool): it was not found, may not
// trace the process, or failed.
Result<Stack> read_python_stack(const StackTools& tools, pid_t pid, bool is_stopped_or_blocked);
Result<Stack> read_native_stack(const StackTools& tools, pid_t pid);

// Explains a tool's error if the kernel did not allow it to trace the process; returns any other
// error unchanged. `yama`: /proc/sys/kernel/yama/ptrace_scope; empty if the kernel has no Yama.
Error explain_stack_error(const Error& error, std::string_view yama);

}  // namespace distgpu
