#include "inspect/stack.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/json.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::size_t max_frames = 200;
constexpr std::size_t max_name = 300;
constexpr std::chrono::seconds tool_timeout{5};

std::string printable_name(std::string_view text) {
    return printable(text.substr(0, max_name));
}

Stack read_frames(const JsonFields& thread) {
    Stack frames = thread.objects("frames", [](const JsonFields& frame) {
        return Frame{printable_name(frame.text("name")), printable_name(frame.text("filename")),
                     static_cast<std::uint32_t>(frame.value("line").whole_number().value_or(0))};
    });
    if (frames.size() > max_frames) frames.resize(max_frames);
    std::reverse(frames.begin(), frames.end());
    return frames;
}

// Whether the frame is in the user's own files, not in the interpreter's or an installed package's.
bool is_own_code(const Frame& frame) {
    constexpr std::array<std::string_view, 4> others{"/site-packages/", "/dist-packages/",
                                                     "/lib/python3", "<frozen "};
    return frame.line > 0 && std::ranges::none_of(others, [&](std::string_view other) {
               return frame.file.find(other) != std::string::npos;
           });
}

// Functions that wait for other ranks: of torch.distributed, Horovod, Accelerate, Lightning,
// DeepSpeed, MPI and NCCL.
bool is_collective(std::string_view function) {
    function.remove_prefix(function.rfind('.') + 1);  // the class; 0 bytes if there is no dot
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

std::string to_text(const Frame& frame) {
    if (frame.line == 0) return frame.function;
    return formatted("{} ({})", frame.function, location_of(frame));
}

std::optional<Stack> parse_py_spy(std::string_view json, pid_t process) {
    // py-spy prints a list, but read_json() reads objects.
    std::optional<Stack> found;
    const auto problem =
        read_json(formatted("{{\"threads\":{}}}", json), [&](const JsonFields& fields) {
            fields.for_each("threads", [&](const JsonFields& thread) {
                const bool is_main = thread.value("os_thread_id").whole_number() ==
                                         static_cast<std::uint64_t>(process) ||
                                     thread.optional_text("thread_name") == "MainThread";
                if (is_main || !found) found = read_frames(thread);
            });
        });
    return problem ? std::nullopt : found;
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

bool waits_for_ranks(const Stack& stack) {
    return std::ranges::any_of(stack, is_collective, &Frame::function);
}

bool may_wait(const Stack& stack) {
    // Parts of names: "wait" is in _wait_for_tstate_lock and in pthread_cond_timedwait.
    constexpr std::array<std::string_view, 17> parts{
        "backward", "barrier", "block_until_ready", "collective", "get",    "gloo", "join",  "nccl",
        "poll",     "recv",    "rendezvous",        "result",     "select", "send", "store", "sync",
        "wait"};
    return waits_for_ranks(stack) || std::ranges::any_of(stack, [&](const Frame& frame) {
               return !is_own_code(frame) && std::ranges::any_of(parts, [&](std::string_view part) {
                   return frame.function.find(part) != std::string::npos;
               });
           });
}

CallSite call_site_of(const Stack& stack) {
    if (stack.empty()) return {};
    const auto call = std::ranges::find_if(stack, [](const Frame& frame) {
        return !is_own_code(frame) && is_collective(frame.function);
    });
    const bool waits = call != stack.end();
    const auto own = std::find_if(std::make_reverse_iterator(call), stack.rend(), is_own_code);
    if (own == stack.rend() && (!waits || call == stack.begin())) {
        return {to_text(waits ? *call : stack.back()), waits};
    }
    const auto caller = own == stack.rend() ? std::prev(call) : std::prev(own.base());
    const auto callee = waits ? call : std::next(caller);
    if (callee == stack.end()) return {to_text(*caller), false};
    return {formatted("{} ({})", callee->function, location_of(*caller)), waits};
}

namespace {

bool is_program(const std::string& file) {
    std::error_code error;
    return std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::string find_in_path(std::string_view path, std::string_view name) {
    while (!path.empty()) {
        const std::string_view folder = cut_until(path, ':');
        std::string file = formatted("{}/{}", folder, name);
        if (folder.starts_with('/') && is_program(file)) return file;
    }
    return "";
}

std::string find_in_folder_of(const std::string& program, std::string_view name) {
    const std::string folder = program.substr(0, program.rfind('/'));
    const std::string file = formatted("{}/{}", folder, name);
    struct stat program_status {};
    struct stat folder_status {};
    struct stat link {};
    struct stat target {};
    const bool exist = stat(program.c_str(), &program_status) == 0 &&
                       stat(formatted("{}/", folder).c_str(), &folder_status) == 0 &&
                       lstat(file.c_str(), &link) == 0 && stat(file.c_str(), &target) == 0;
    if (!exist || ((folder_status.st_mode | target.st_mode) & S_IWOTH) != 0) return "";
    const auto is_trusted = [&](uid_t owner) {
        return owner == 0 || owner == geteuid() || owner == program_status.st_uid;
    };
    return is_trusted(link.st_uid) && is_trusted(target.st_uid) && is_program(file) ? file : "";
}

}  // namespace

StackTools find_stack_tools(std::string_view path, const std::vector<std::string>& programs) {
    const auto find = [&](std::string_view name) {
        std::string file = find_in_path(path, name);
        for (const std::string& program : programs) {
            if (file.empty()) file = find_in_folder_of(program, name);
        }
        return file;
    };
    return {find("py-spy"), find("eu-stack"), find("gdb")};
}

Result<Stack> read_python_stack(const StackTools& tools, pid_t pid, bool is_stopped_or_blocked) {
    if (tools.py_spy.empty()) {
        return Error{"py-spy", "not found on the node",
                     "pip install py-spy, in your environment or on the nodes"};
    }
    std::vector<std::string> command{tools.py_spy, "dump", "--json", "--pid", formatted("{}", pid)};
    if (is_stopped_or_blocked) command.emplace_back("--nonblocking");
    const auto printed = run_command(command, tool_timeout);
    if (!printed) return Error{"py-spy", printed.error().problem, ""};
    auto stack = parse_py_spy(*printed, pid);
    if (!stack) return Error{"py-spy", "printed no stack", ""};
    return *std::move(stack);
}

Result<Stack> read_native_stack(const StackTools& tools, pid_t pid) {
    const std::string number = formatted("{}", pid);
    if (!tools.eu_stack.empty()) {
        return run_command({tools.eu_stack, "-1", "-p", number}, tool_timeout)
            .transform(parse_backtrace);
    }
    if (tools.gdb.empty()) {
        return Error{"eu-stack and gdb", "not found on the node", "install elfutils there"};
    }
    // auto-load: by default gdb runs scripts and loads libraries that the process's files name.
    return run_command(
               {tools.gdb, "-batch", "-nx", "-iex", "set auto-load no", "-p", number, "-ex", "bt"},
               tool_timeout)
        .transform(parse_backtrace);
}

Error explain_stack_error(const Error& error, std::string_view yama) {
    const auto contains = [&](std::string_view text) {
        return error.problem.find(text) != std::string::npos;
    };
    if (!contains("ermission") && !contains("not permitted")) return error;
    if (!yama.empty() && yama != "0") {
        constexpr std::string_view or_watch =
            "start the step with --distgpu=MODE,watch, which makes each task's process traceable, "
            "or ";
        return {"stacks",
                formatted("the kernel lets no process trace another (kernel.yama.ptrace_scope "
                          "is {})",
                          yama),
                formatted("{}ask your administrator to set it to 0",
                          yama == "1" ? or_watch : std::string_view())};
    }
    return {"stacks", "the program does not allow other processes to trace it", ""};
}

}  // namespace distgpu
