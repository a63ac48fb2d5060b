#include "inspect/stack_tools.h"

#include "base/format.h"
#include "base/json.h"
#include "base/values.h"
#include "inspect/process_facts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

constexpr std::chrono::seconds tool_timeout{5};
constexpr std::chrono::seconds search_timeout{1};

// ---- What py-spy prints.

struct Local {
    std::string name;
    std::string value;  // as py-spy writes it
};

struct ReadFrame {
    Frame frame;
    std::vector<Local> locals;
};

struct Thread {
    std::vector<ReadFrame> frames;  // the outermost call first
    bool is_main = false;
    bool holds_gil = false;
    bool sleeps = false;  // for a time, such as in time.sleep()
};

// With --native, the others are machine code.
bool is_python(const ReadFrame& read) {
    const std::string& file = read.frame.file;
    return file.ends_with(".py") || file.ends_with(".pyx") || file.starts_with('<');
}

ReadFrame read_frame(const JsonFields& fields) {
    ReadFrame read{{printable_name(fields.text("name")), printable_name(fields.text("filename")),
                    static_cast<std::uint32_t>(fields.value("line").whole_number().value_or(0))},
                   {}};
    // Lines of C code, which debugging symbols tell, would make it the user's own code.
    if (!is_python(read)) read.frame.line = 0;
    if (fields.value("locals").is_null()) return read;
    read.locals = fields.objects("locals", [](const JsonFields& local) {
        return Local{local.text("name"), local.optional_text("repr")};
    });
    return read;
}

// A forked process's stack begins with what its parent was doing. What multiprocessing started,
// such as a DataLoader's worker, is in code of its own from there on.
void drop_frames_of_parent(std::vector<ReadFrame>& frames) {
    const auto start = std::find_if(frames.rbegin(), frames.rend(), [](const ReadFrame& read) {
        return read.frame.function.ends_with("_bootstrap") &&
               read.frame.file.ends_with("/multiprocessing/process.py");
    });
    if (start != frames.rend()) frames.erase(frames.begin(), std::prev(start.base()));
}

Thread read_thread(const JsonFields& fields, pid_t process, const std::set<pid_t>& sleeping) {
    const auto number = fields.value("os_thread_id").whole_number();  // null if py-spy fails
    Thread thread{fields.objects("frames", read_frame),
                  number == static_cast<std::uint64_t>(process) ||
                      fields.optional_text("thread_name") == "MainThread",
                  fields.value("owns_gil").flag().value_or(false),
                  number && sleeping.contains(static_cast<pid_t>(*number))};
    // Machine code without a name, of which py-spy tells the address.
    std::erase_if(thread.frames,
                  [](const ReadFrame& read) { return read.frame.function.starts_with("0x"); });
    if (thread.frames.size() > max_frames) thread.frames.resize(max_frames);
    std::ranges::reverse(thread.frames);
    drop_frames_of_parent(thread.frames);
    return thread;
}

Stack stack_of(const Thread& thread) {
    Stack stack;
    stack.reserve(thread.frames.size());
    for (const ReadFrame& read : thread.frames) stack.push_back(read.frame);
    return stack;
}

bool is_own_python(const ReadFrame& read) {
    return is_python(read) && is_own_code(read.frame);
}

constexpr std::string_view waits_for_end = "_shutdown _wait_for_tstate_lock join";
constexpr std::string_view waits_for_event = "wait wait_for";

// The name without the class, if the function is one of threading.py; otherwise empty.
std::string_view threading_function(const Frame& frame) {
    if (is_own_code(frame) || !frame.file.ends_with("/threading.py")) return "";
    std::string_view function = frame.function;
    function.remove_prefix(function.rfind('.') + 1);  // 0 bytes if there is no dot
    return function;
}

// Whether its innermost Python function is one of these of threading.py. All functions of the
// standard library that wait for another thread end there: for its end as Thread.join(), or for
// what it does as Future.result(), Queue.get() and as_completed(). asyncio's loop does not: it
// waits for any event.
bool is_in_threading(const Thread& thread, std::string_view functions) {
    const auto last = std::find_if(thread.frames.rbegin(), thread.frames.rend(), is_python);
    return last != thread.frames.rend() && has_word(functions, threading_function(last->frame));
}

bool waits_for_thread(const Thread& thread) {
    return is_in_threading(thread, waits_for_end) || is_in_threading(thread, waits_for_event);
}

// Whether it is in Event.wait(1), by which a loop may sleep: that calls Condition.wait(1).
bool waits_for_event_for_a_time(const Thread& thread) {
    const auto inner = std::find_if(thread.frames.rbegin(), thread.frames.rend(), is_python);
    const auto outer = inner == thread.frames.rend() ? inner : std::next(inner);
    return outer != thread.frames.rend() && threading_function(inner->frame) == "wait" &&
           threading_function(outer->frame) == "wait" &&
           std::ranges::any_of(inner->locals, [](const Local& local) {
               return local.name == "timeout" && local.value != "None";
           });
}

// Precondition: there is one.
const Thread& chosen_thread(const std::vector<Thread>& threads) {
    auto main = std::ranges::find(threads, true, &Thread::is_main);
    if (main == threads.end()) main = threads.begin();
    if (!waits_for_thread(*main)) return *main;
    // Any thread may be the one to cause an event, but hardly one that sleeps, such as a monitor.
    const bool awaits_event = is_in_threading(*main, waits_for_event);
    const auto rank_of = [&](const Thread& thread) {
        const auto own = std::ranges::count_if(thread.frames, is_own_python);
        const bool is_other = &thread != &*main && own > 0 && !waits_for_thread(thread) &&
                              !(awaits_event && thread.sleeps);
        return is_other ? std::tuple(true, waits_for(stack_of(thread)) == WaitsFor::ranks, own)
                        : std::tuple(false, false, decltype(own){0});
    };
    const auto best = std::ranges::max_element(threads, {}, rank_of);
    return std::get<0>(rank_of(*best)) ? *best : *main;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// py-spy writes "<mpi4py.MPI.Request at 0x7f...>", Python "<mpi4py.MPI.Request object at 0x7f...>",
// also within lists. torch's class is torch.distributed.Work.
bool is_request(std::string_view value) {
    constexpr std::array<std::string_view, 3> types{"<Work ", ".Work ", "mpi4py.MPI.Request "};
    return std::ranges::any_of(types, [&](std::string_view type) { return contains(value, type); });
}

// Seconds since 1970, from 2017 to 2033, as time.time() returns them.
bool is_time(std::string_view value) {
    constexpr double first = 1.5e9;
    constexpr double last = 2e9;
    const double seconds = contains(value, ".") ? decimal(value).value_or(0) : 0;
    return seconds > first && seconds < last;
}

// The path in py-spy's "\"/tmp/x.lock\"", unless it is shortened; empty for other values.
std::string path_in(std::string_view value) {
    if (value.size() < 3 || !value.starts_with("\"/") || !value.ends_with('"')) return "";
    value = value.substr(1, value.size() - 2);
    return contains(value, "\\") || value.ends_with("...") ? "" : std::string(value);
}

class Digest {
  public:
    void add(std::string_view text) {
        for (const char byte : text) {  // FNV-1a
            hash_ ^= static_cast<unsigned char>(byte);
            hash_ *= 0x100000001b3;
        }
        hash_ ^= 0xff;  // an end, which no text has
        hash_ *= 0x100000001b3;
        is_empty_ = false;
    }
    std::string text() const { return is_empty_ ? "" : formatted("{:016x}", hash_); }

  private:
    std::uint64_t hash_ = 0xcbf29ce484222325;
    bool is_empty_ = true;
};

PythonStack python_stack_of(const Thread& thread) {
    PythonStack result{.stack = stack_of(thread), .holds_gil = thread.holds_gil};
    Digest digest;
    for (const ReadFrame& read : thread.frames) {
        for (const auto& [name, value] : read.locals) {
            std::string path = contains(name, "lock") ? path_in(value) : "";
            if (!path.empty()) result.lock_file = std::move(path);
        }
        if (!is_own_python(read)) continue;
        result.has_request = false;  // that of a caller
        for (const auto& [name, value] : read.locals) {
            result.has_request = result.has_request || is_request(value);
            // An object's address says nothing about what is in it.
            if (contains(value, "0x") || is_time(value)) continue;
            digest.add(name);
            digest.add(value);
        }
    }
    // A loop that sleeps may count how often. Whether the main thread does in other ways, its
    // system calls at all moments tell.
    const bool may_only_count = thread.is_main ? waits_for_event_for_a_time(thread) : thread.sleeps;
    if (!may_only_count) result.variables = digest.text();
    return result;
}

// ---- Where the tools are.

constexpr std::array<std::string_view, 3> tool_names{"py-spy", "eu-stack", "gdb"};

std::string folder_of(const std::string& program) {
    return program.substr(0, program.rfind('/'));
}

// Runs in a child process.
std::string find_beside(const std::string& program, std::string_view name) {
    const std::string folder = folder_of(program);
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

// Runs in a child process: the paths of the first of the processes that has any, each on a line.
std::string own_program_of(const std::vector<pid_t>& pids) {
    for (const pid_t pid : pids) {
        const std::string program = read_own_program(pid);
        if (program.empty()) continue;
        const std::string start = read_command(pid);
        const std::string name = start.substr(0, start.find(' '));
        std::error_code error;
        const bool is_same = name.starts_with('/') && name != program &&
                             std::filesystem::equivalent(name, program, error);
        return is_same ? formatted("{}\n{}\n", name, program) : formatted("{}\n", program);
    }
    return "";
}

// "/home/me/venv/bin/python3"; empty if all are the system's, into which users install nothing.
std::string python_among(const std::vector<std::string>& programs) {
    const auto found = std::ranges::find_if(programs, [](const std::string& program) {
        return file_name(program).starts_with("python") &&
               !contains(formatted(":{}:", system_folders), formatted(":{}:", folder_of(program)));
    });
    return found == programs.end() ? "" : *found;
}

Result<std::string> run_py_spy(const StackTools& tools, const std::vector<std::string>& options,
                               pid_t pid) {
    if (tools.py_spy.empty()) {
        return Error{"py-spy", "not found on the node",
                     tools.python.empty()
                         ? "pip install py-spy, in your environment or on the nodes"
                         : printable(tools.python) + " -m pip install py-spy"};
    }
    std::vector<std::string> command{tools.py_spy, "dump", "--json"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--pid", formatted("{}", pid)});
    auto printed = run_command(command, tool_timeout);
    if (!printed) return Error{"py-spy", printed.error().problem, ""};
    return printed;
}

Result<PythonStack> parse_printed(const std::string& printed, pid_t pid,
                                  const std::set<pid_t>& sleeping) {
    auto stack = parse_py_spy(printed, pid, sleeping);
    if (!stack) return Error{"py-spy", "printed no stack", ""};
    return *std::move(stack);
}

}  // namespace

std::optional<PythonStack> parse_py_spy(std::string_view json, pid_t process,
                                        const std::set<pid_t>& sleeping) {
    // py-spy prints a list, but read_json() reads objects.
    std::vector<Thread> threads;
    const auto problem =
        read_json(formatted("{{\"threads\":{}}}", json), [&](const JsonFields& fields) {
            threads = fields.objects("threads", [&](const JsonFields& thread) {
                return read_thread(thread, process, sleeping);
            });
        });
    if (problem || threads.empty()) return std::nullopt;
    return python_stack_of(chosen_thread(threads));
}

std::vector<std::string> read_own_programs(const std::vector<pid_t>& pids) {
    // One child for the processes of each program: usually all ranks run the same.
    std::map<std::string, std::vector<pid_t>> processes;
    for (const pid_t pid : pids) processes[read_program(pid)].push_back(pid);
    processes.erase("");
    std::vector<ChildCall> calls;
    calls.reserve(processes.size());
    for (const auto& entry : processes) {
        calls.emplace_back([&entry] { return own_program_of(entry.second); });
    }
    std::set<std::string> programs;
    for (const auto& answer : outputs_of_children(calls, Clock::now() + search_timeout)) {
        std::string_view lines = answer ? std::string_view(*answer) : std::string_view();
        while (!lines.empty()) programs.emplace(cut_until(lines, '\n'));
    }
    return {programs.begin(), programs.end()};
}

StackTools find_stack_tools(std::string_view path, const std::vector<std::string>& programs,
                            std::string_view system) {
    std::vector<std::string> found = find_programs(formatted("{}:{}", system, path), tool_names);
    std::vector<ChildCall> calls;
    calls.reserve(programs.size());
    for (const std::string& program : programs) {
        calls.emplace_back([&program] {
            std::string lines;
            for (const std::string_view name : tool_names)
                lines += find_beside(program, name) + '\n';
            return lines;
        });
    }
    for (const auto& answer : outputs_of_children(calls, Clock::now() + search_timeout)) {
        std::string_view lines = answer ? std::string_view(*answer) : std::string_view();
        for (std::string& tool : found) {
            const std::string_view file = cut_until(lines, '\n');
            if (tool.empty()) tool = file;
        }
    }
    return {found[0], found[1], found[2], python_among(programs)};
}

Result<PythonStack> read_python_stack(const StackTools& tools, pid_t pid,
                                      bool is_stopped_or_blocked) {
    std::vector<std::string> options{"--locals"};
    if (is_stopped_or_blocked) options.emplace_back("--nonblocking");
    const std::set<pid_t> sleeping = sleeping_threads(pid);  // py-spy interrupts them
    return run_py_spy(tools, options, pid).and_then([&](const std::string& printed) {
        return parse_printed(printed, pid, sleeping);
    });
}

Result<Stack> read_mixed_stack(const StackTools& tools, pid_t pid) {
    const std::set<pid_t> sleeping = sleeping_threads(pid);
    return run_py_spy(tools, {"--native"}, pid)
        .and_then([&](const std::string& printed) { return parse_printed(printed, pid, sleeping); })
        .transform([](PythonStack python) { return std::move(python.stack); });
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
    if (!contains(error.problem, "ermission") && !contains(error.problem, "not permitted")) {
        return error;
    }
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
