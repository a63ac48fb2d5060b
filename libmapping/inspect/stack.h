// Call stacks of other processes, and what their functions' names and files tell: whose code it is,
// and what it may wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

// The outermost call first.
using Stack = std::vector<Frame>;
inline constexpr std::size_t max_frames = 200;  // of a stack, the innermost

// Up to 300 bytes for a Frame; those that are not printable ASCII are replaced by '?'.
std::string printable_name(std::string_view text);

// "load_batch (data.py:41)"; "main" for machine code.
std::string to_text(const Frame& frame);

// Parses what `eu-stack -1` or gdb's `bt` printed: lines such as "#3  0x... in main () at f.c:3",
// without the parts that only gdb prints. Frames without a name are skipped.
Stack parse_backtrace(std::string_view text);

// Whether the frame is in the user's own files, not in the interpreter's or an installed package's.
bool is_own_code(const Frame& frame);

bool has_own_code(const Stack& stack);

// For what a process waits, according to what its own code called.
enum class WaitsFor : std::uint8_t {
    nothing,   // known
    ranks,     // a collective, a message, a store, a barrier
    backward,  // computes the gradients, or waits until DDP has exchanged them
    gpu,       // until the kernels that it started are done
    process,   // a worker or another child
};

// `native`: the same stack with the machine code, if known: without it, a function in machine code
// such as Work.wait() is not seen.
WaitsFor waits_for(const Stack& stack, const Stack* native = nullptr);

// Where a rank is in its own code: what that code called, and from which line.
struct CallSite {
    std::string text;            // "all_reduce (train.py:88)"; empty if unknown
    bool is_collective = false;  // the function waits for other ranks, after they have met

    bool operator==(const CallSite&) const = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): as above.
    auto operator<=>(const CallSite&) const = default;
};
CallSite call_site_of(const Stack& stack, const Stack* native = nullptr);

// The part that the stacks of one process have in common: the outermost frames that are equal, and
// the next one if it is the same function at different lines. All of a stack if it is the only one.
Stack common_stack(const std::vector<const Stack*>& stacks);

// Whether the process ran different functions of the user: neither stack's own functions, the
// outermost first, are the beginning of the other's. A loop that waits and looks whether it may go
// on is always in the function that waits.
bool runs_other_code(const Stack& left, const Stack& right);

}  // namespace distgpu
