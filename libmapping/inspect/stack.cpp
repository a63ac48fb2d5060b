#include "inspect/stack.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/json_fields.h"
#include "base/values.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

constexpr std::size_t most_frames = 200;
constexpr std::size_t longest_name = 300;

std::string cleaned(std::string_view text) {
    return printable(text.substr(0, longest_name));
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

Stack read_frames(const JsonFields& thread) {
    Stack frames = thread.objects("frames", [](const JsonFields& frame) {
        return Frame{cleaned(frame.text("name")), cleaned(frame.text("filename")),
                     static_cast<std::uint32_t>(frame.value("line").whole().value_or(0))};
    });
    if (frames.size() > most_frames) frames.resize(most_frames);
    std::reverse(frames.begin(), frames.end());
    return frames;
}

// The frames of the user's own files, as opposed to the interpreter's and installed packages'.
bool is_own_code(const Frame& frame) {
    if (frame.line == 0) return false;
    constexpr std::array<std::string_view, 4> others{"/site-packages/", "/dist-packages/",
                                                     "/lib/python3", "<frozen "};
    return std::none_of(others.begin(), others.end(), [&](std::string_view other) {
        return frame.file.find(other) != std::string::npos;
    });
}

// Functions that wait for other ranks: of torch.distributed, Horovod, Accelerate, Lightning,
// DeepSpeed, and as MPI and NCCL call them.
bool is_collective(std::string_view function) {
    function.remove_prefix(function.rfind('.') == std::string_view::npos ? 0
                                                                         : function.rfind('.') + 1);
    if (function.starts_with("MPI_") || function.starts_with("PMPI_")) return true;
    constexpr std::array<std::string_view, 42> names{
        "all_gather",
        "all_gather_coalesced",
        "all_gather_into_tensor",
        "all_gather_object",
        "all_reduce",
        "all_reduce_coalesced",
        "all_to_all",
        "all_to_all_single",
        "allgather",
        "allgather_object",
        "allreduce",
        "allreduce_",
        "alltoall",
        "barrier",
        "batch_isend_irecv",
        "broadcast",
        "broadcast_",
        "broadcast_object",
        "broadcast_object_list",
        "gather_object",
        "grouped_allreduce",
        "grouped_allreduce_",
        "init_process_group",
        "monitored_barrier",
        "ncclAllGather",
        "ncclAllReduce",
        "ncclBroadcast",
        "ncclCommInitRank",
        "ncclGroupEnd",
        "ncclReduceScatter",
        "process_allgather",
        "recv_object_list",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "reducescatter",
        "scatter_object_list",
        "send_object_list",
        "store_based_barrier",
        "sync_global_devices",
        "synchronize",
        "wait_for_everyone",
        "_store_based_barrier",
    };
    return std::find(names.begin(), names.end(), function) != names.end();
}

std::string at(const Frame& frame) {
    return frame.line == 0 ? frame.function : formatted("{}:{}", base_name(frame.file), frame.line);
}

// "Mat::step<int, long>" of eu-stack's "int Mat::step<int, long>(std::vector<int>, long)", which
// has the type of what a template returns, and of gdb's "Mat::step<int, long> (this=0x1) at
// mat.cpp:4".
std::string_view function_of(std::string_view text) {
    std::size_t begin = 0;
    std::size_t end = text.size();
    std::size_t depth = 0;  // of brackets
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_outside = depth == 0 && !text.substr(0, i).ends_with("operator");
        if (is_outside && text.substr(i).starts_with(" (")) {
            end = std::min(end, i);
            break;
        }
        if (is_outside && text[i] == '(') end = i;
        if (is_outside && text[i] == ' ' && end == text.size()) begin = i + 1;
        if (std::string_view("<({").find(text[i]) != std::string_view::npos) ++depth;
        if (std::string_view(">)}").find(text[i]) != std::string_view::npos && depth > 0) --depth;
    }
    return text.substr(begin, end - begin);
}

}  // namespace

std::string to_text(const Frame& frame) {
    return frame.line == 0 ? frame.function : formatted("{} ({})", frame.function, at(frame));
}

std::optional<Stack> parse_py_spy(std::string_view json, pid_t process) {
    // A list; the reader wants an object.
    std::optional<Stack> main;
    std::optional<Stack> first;
    const auto problem =
        read_json(formatted("{{\"threads\":{}}}", json), [&](const JsonFields& all) {
            all.each("threads", [&](const JsonFields& thread) {
                const bool is_main =
                    thread.value("os_thread_id").whole() == static_cast<std::uint64_t>(process) ||
                    thread.optional_text("thread_name") == "MainThread";
                if (is_main) main = read_frames(thread);
                if (!first) first = read_frames(thread);
            });
        });
    if (problem) return std::nullopt;
    return main ? main : first;
}

Stack parse_backtrace(std::string_view text) {
    Stack stack;
    while (!text.empty() && stack.size() < most_frames) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.starts_with('#')) continue;
        line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with("0x")) line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with("in ")) line.remove_prefix(3);
        // Without a symbol's version, as in "pause@@GLIBC_2.2.5".
        const std::string_view name = function_of(line.substr(0, line.find('@')));
        if (!name.empty() && name != "??") stack.push_back({cleaned(name)});
    }
    std::reverse(stack.begin(), stack.end());
    return stack;
}

bool waits_for_ranks(const Stack& stack) {
    return std::any_of(stack.begin(), stack.end(),
                       [](const Frame& frame) { return is_collective(frame.function); });
}

bool may_wait(const Stack& stack) {
    // Parts of names: "wait" is in _wait_for_tstate_lock and in pthread_cond_timedwait.
    constexpr std::array<std::string_view, 17> parts{
        "backward", "barrier", "block_until_ready", "collective", "get",    "gloo", "join",  "nccl",
        "poll",     "recv",    "rendezvous",        "result",     "select", "send", "store", "sync",
        "wait"};
    return waits_for_ranks(stack) ||
           std::any_of(stack.begin(), stack.end(), [&](const Frame& frame) {
               return !is_own_code(frame) &&
                      std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
                          return frame.function.find(part) != std::string::npos;
                      });
           });
}

CallSite call_site_of(const Stack& stack) {
    if (stack.empty()) return {};
    const auto collective = std::find_if(stack.begin(), stack.end(), [](const Frame& frame) {
        return !is_own_code(frame) && is_collective(frame.function);
    });
    const auto end = collective == stack.end() ? stack.end() : collective;
    const auto own = std::find_if(std::make_reverse_iterator(end), stack.rend(), is_own_code);
    const auto caller =
        own == stack.rend() ? (end == stack.begin() ? end : end - 1) : std::prev(own.base());
    if (collective != stack.end()) {
        if (collective == stack.begin()) return {to_text(*collective), true};
        return {formatted("{} ({})", collective->function, at(*caller)), true};
    }
    if (own == stack.rend() || std::next(caller) == stack.end()) {
        return {to_text(own == stack.rend() ? stack.back() : *caller), false};
    }
    return {formatted("{} ({})", std::next(caller)->function, at(*caller)), false};
}

}  // namespace distgpu
