#include "inspect/stack.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

namespace distgpu {
namespace {

// Without the class: "join" for "Thread.join".
std::string_view last_name(std::string_view function) {
    return function.substr(function.rfind('.') + 1);  // all of it if there is no dot
}

bool has_any(std::span<const std::string_view> parts, std::string_view text) {
    return std::ranges::any_of(
        parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

// Functions that wait for other ranks: of torch.distributed, Horovod, Accelerate, Lightning,
// DeepSpeed, MPI and NCCL.
bool is_collective(std::string_view function) {
    function = last_name(function);
    constexpr std::string_view names =
        "all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_reduce "
        "all_reduce_coalesced all_to_all all_to_all_single allgather allgather_object allreduce "
        "allreduce_ alltoall barrier batch_isend_irecv broadcast broadcast_ broadcast_object "
        "broadcast_object_list gather_object grouped_allreduce grouped_allreduce_ "
        "init_process_group monitored_barrier ncclAllGather ncclAllReduce ncclBroadcast "
        "ncclCommInitRank ncclGroupEnd ncclReduceScatter process_allgather recv_object_list "
        "reduce_scatter reduce_scatter_tensor reducescatter scatter_object_list send_object_list "
        "store_based_barrier sync_global_devices synchronize wait_for_everyone "
        "_store_based_barrier";
    return function.starts_with("MPI_") || function.starts_with("PMPI_") ||
           has_word(names, function);
}

std::string location_of(const Frame& frame) {
    return frame.line == 0 ? frame.function : formatted("{}:{}", file_name(frame.file), frame.line);
}

// "Mat::step<int, long>" from eu-stack's "int Mat::step<int, long>(std::vector<int>, long)", which
// for templates has the return type too, and from gdb's "Mat::step<int, long> (this=0x1) at
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

std::string printable_name(std::string_view text) {
    constexpr std::size_t max_size = 300;
    return printable(text.substr(0, max_size));
}

bool is_own_code(const Frame& frame) {
    constexpr std::array<std::string_view, 4> others{"/site-packages/", "/dist-packages/",
                                                     "/lib/python3", "<frozen "};
    constexpr std::array<std::string_view, 5> sources{".c", ".cc", ".cpp", ".h", ".hpp"};
    return frame.line > 0 && !has_any(others, frame.file) &&
           std::ranges::none_of(sources, [&](std::string_view end) {  // py-spy's machine code
               return frame.file.ends_with(end);
           });
}

std::string to_text(const Frame& frame) {
    if (frame.line == 0) return frame.function;
    return formatted("{} ({})", frame.function, location_of(frame));
}

Stack parse_backtrace(std::string_view text) {
    Stack stack;
    while (!text.empty() && stack.size() < max_frames) {
        std::string_view line = cut_until(text, '\n');
        if (!line.starts_with('#')) continue;
        line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with("0x")) line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with("in ")) line.remove_prefix(3);
        // Drops the symbol's version, as in "pause@@GLIBC_2.2.5".
        const std::string_view name = function_of(line.substr(0, line.find('@')));
        if (!name.empty() && name != "??") stack.push_back({printable_name(name)});
    }
    std::reverse(stack.begin(), stack.end());
    return stack;
}

bool has_own_code(const Stack& stack) {
    return std::ranges::any_of(stack, is_own_code);
}

namespace {

// The frames below the user's own code: the interpreter's, packages' and machine code.
std::span<const Frame> called_by_own_code(const Stack& stack) {
    const auto own = std::find_if(stack.rbegin(), stack.rend(), is_own_code);
    return {own.base(), stack.end()};
}

bool is_in(const Frame& frame, std::string_view folder) {
    return frame.file.find(folder) != std::string::npos;
}

bool is_wait_for_gpu(const Frame& frame) {
    constexpr std::array<std::string_view, 6> calls{
        "cuCtxSynchronize",      "cuEventSynchronize",   "cuStreamSynchronize",
        "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaStreamSynchronize"};
    return has_any(calls, frame.function) ||
           (is_in(frame, "/torch/cuda/") && frame.function == "synchronize");
}

bool is_wait_for_ranks(const Frame& frame) {
    constexpr std::string_view messages =
        "irecv isend recv recv_object send send_object tcp_rendezvous_handler rendezvous wait";
    if (is_wait_for_gpu(frame)) return false;
    if (is_collective(frame.function)) return true;
    const std::string_view name = last_name(frame.function);
    return (is_in(frame, "/torch/distributed/") || is_in(frame, "/mpi4py/")) &&
           has_word(messages, name);
}

// Of libraries in machine code: torch, gloo, MPI, NCCL, Horovod, JAX.
bool is_native_wait_for_ranks(const Frame& frame) {
    constexpr std::array<std::string_view, 9> beginnings{
        "c10d::", "gloo::", "MPI_", "PMPI_", "ompi_", "MPIR_", "nccl", "horovod::", "xla::cpu::"};
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) {
        return frame.function.starts_with(beginning);
    });
}

// Before the ranks have met, or at the store by which they meet.
bool is_rendezvous(std::string_view function) {
    constexpr std::array<std::string_view, 4> parts{"Store", "init_process_group", "rendezvous",
                                                    "CommInit"};
    return has_any(parts, function);
}

// A DataLoader's workers, multiprocessing, subprocess.
bool is_wait_for_process(const Frame& frame) {
    constexpr std::string_view functions =
        "_try_wait _wait communicate get join poll recv wait _recv _recv_bytes _try_get_data";
    return has_word(functions, last_name(frame.function)) &&
           (is_in(frame, "/multiprocessing/") || is_in(frame, "/subprocess.py") ||
            is_in(frame, "/dataloader.py"));
}

}  // namespace

WaitsFor waits_for(const Stack& stack, const Stack* native) {
    const auto called = called_by_own_code(stack);
    const auto below = native == nullptr ? called : called_by_own_code(*native);
    if (std::ranges::any_of(called, is_wait_for_ranks)) return WaitsFor::ranks;
    if (std::ranges::any_of(called, is_wait_for_process)) return WaitsFor::process;
    if (std::ranges::any_of(below, is_wait_for_gpu)) return WaitsFor::gpu;
    const auto is_backward = [](const Frame& frame) { return frame.function == "backward"; };
    if (std::ranges::any_of(called, is_backward)) return WaitsFor::backward;
    if (std::ranges::any_of(below, is_native_wait_for_ranks)) return WaitsFor::ranks;
    return WaitsFor::nothing;
}

CallSite call_site_of(const Stack& stack, const Stack* native) {
    if (stack.empty()) return {};
    const auto call = std::ranges::find_if(stack, [](const Frame& frame) {
        return !is_own_code(frame) && !is_wait_for_gpu(frame) && is_collective(frame.function);
    });
    const bool waits = call != stack.end();
    const bool is_collective_call = waits && !is_rendezvous(call->function);
    const auto own = std::find_if(std::make_reverse_iterator(call), stack.rend(), is_own_code);
    if (own == stack.rend() && (!waits || call == stack.begin())) {
        return {to_text(waits ? *call : stack.back()), is_collective_call};
    }
    const auto caller = own == stack.rend() ? std::prev(call) : std::prev(own.base());
    auto callee = waits ? call : std::next(caller);
    // A decorator of torch.distributed, which has the name of none of its functions.
    while (callee != stack.end() && std::next(callee) != stack.end() &&
           callee->function.find("<locals>") != std::string::npos) {
        ++callee;
    }
    if (callee != stack.end()) {
        return {formatted("{} ({})", callee->function, location_of(*caller)), is_collective_call};
    }
    // Machine code that the user's function called: "Work.wait" and the like.
    const auto below = native == nullptr ? std::span<const Frame>() : called_by_own_code(*native);
    const auto wait = std::ranges::find_if(below, is_native_wait_for_ranks);
    if (wait != below.end()) {
        return {formatted("{} ({})", wait->function, location_of(*caller)),
                !is_rendezvous(wait->function)};
    }
    return {to_text(*caller), false};
}

Stack common_stack(const std::vector<const Stack*>& stacks) {
    Stack common;
    if (stacks.empty()) return common;
    const Stack& last = *stacks.back();
    for (std::size_t i = 0; i < last.size(); ++i) {
        const auto has_frame = [&](const Stack* stack) {
            return i < stack->size() && (*stack)[i] == last[i];
        };
        const auto has_function = [&](const Stack* stack) {
            return i < stack->size() && (*stack)[i].function == last[i].function &&
                   (*stack)[i].file == last[i].file;
        };
        if (!std::ranges::all_of(stacks, has_function)) break;
        common.push_back(last[i]);
        if (!std::ranges::all_of(stacks, has_frame)) break;
    }
    return common;
}

bool runs_other_code(const Stack& left, const Stack& right) {
    const auto own_functions = [](const Stack& stack) {
        Stack own;
        // Machine code has no files, and its innermost function may be a system call.
        const bool is_native =
            std::ranges::none_of(stack, [](const Frame& f) { return f.line > 0; });
        for (const Frame& frame : stack) {
            if (is_native && is_native_wait_for_ranks(frame)) break;
            if (is_native || is_own_code(frame)) own.push_back({frame.function, frame.file});
        }
        if (is_native && !own.empty()) own.pop_back();
        return own;
    };
    const Stack a = own_functions(left);
    const Stack b = own_functions(right);
    return !std::equal(a.begin(),
                       a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                       b.begin());
}

}  // namespace distgpu
