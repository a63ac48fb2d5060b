#include "base/io/programs.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::size_t max_output = std::size_t{16} << 20U;
constexpr int cannot_start = 127;  // the status of a shell that cannot start a command

// Runs in the child. System calls only: other threads of slurmstepd may have held any lock.
[[noreturn]] void exec_command(char* const* arguments, int output, int errors) {
    const int input = open("/dev/null", O_RDONLY);
    const bool ready = dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                       dup2(errors, STDERR_FILENO) >= 0 && setpgid(0, 0) == 0 &&
                       setresgid(getegid(), getegid(), getegid()) == 0 &&
                       setresuid(geteuid(), geteuid(), geteuid()) == 0;
    sigset_t no_signals;
    sigemptyset(&no_signals);
    sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    close_from(STDERR_FILENO + 1);
    if (ready) exec_without_variables(arguments);
    _exit(cannot_start);
}

// The null-terminated array for execve(2), which does not change the texts.
std::vector<char*> pointers_to(const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments) {
        pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

enum class End { closed, timed_out, too_long };

struct Output {
    std::string text;
    std::string errors;
    End end;
};

// Appends one block. Returns false at the end of the stream.
bool read_some(int stream, std::string& text) {
    std::array<char, 65536> buffer{};
    const ssize_t size = read(stream, buffer.data(), buffer.size());
    if (size < 0) return errno == EINTR;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    return size > 0;
}

// Reads until all streams are closed, the time is over, or one is longer than max_output. The
// descriptor of a stream that is closed becomes negative, which poll() ignores.
End read_streams(std::span<pollfd> streams, std::span<std::string> texts, Deadline end) {
    const auto is_open = [](const pollfd& stream) { return stream.fd >= 0; };
    while (std::ranges::any_of(streams, is_open)) {
        if (Clock::now() >= end) return End::timed_out;
        if (poll_until(streams, end) <= 0) continue;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (streams[i].revents != 0 && !read_some(streams[i].fd, texts[i])) streams[i].fd = -1;
            if (texts[i].size() > max_output) return End::too_long;
        }
    }
    return End::closed;
}

Output read_output(const UniqueFd& text, const UniqueFd& errors, Deadline end) {
    std::array streams{pollfd{text.fd(), POLLIN, 0}, pollfd{errors.fd(), POLLIN, 0}};
    std::array<std::string, 2> texts;
    const End how = read_streams(streams, texts, end);
    return {std::move(texts[0]), std::move(texts[1]), how};
}

// Waits until the deadline for the child to end; si_pid is 0 if it has not. `flag`: WNOWAIT leaves
// it a zombie, so that no other process or group can get its id.
siginfo_t wait_for(pid_t child, Deadline end, int flag) {
    siginfo_t status{};
    const auto id = static_cast<id_t>(child);
    while (waitid(P_PID, id, &status, WEXITED | WNOHANG | flag) != 0 || status.si_pid == 0) {
        constexpr useconds_t pause = 200;
        if (Clock::now() >= end) break;
        usleep(pause);
    }
    return status;
}

// Kills the child and everything in its process group. A child blocked in a driver ends only when
// the driver returns; the parent of this process then reaps it.
void kill_child(pid_t child) {
    constexpr std::chrono::seconds timeout{1};
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    wait_for(child, Clock::now() + timeout, 0);
}

// "5 s", "200 ms".
std::string duration_text(std::chrono::milliseconds time) {
    constexpr std::int64_t second = 1000;
    return time.count() % second == 0 ? formatted("{} s", time.count() / second)
                                      : formatted("{} ms", time.count());
}

std::string last_line(std::string_view text) {
    constexpr std::size_t max_size = 500;
    text = text.substr(0, text.find_last_not_of('\n') + 1);
    return std::string(text.substr(text.rfind('\n') + 1).substr(0, max_size));
}

std::string failure_reason(const Output& output, const siginfo_t& status) {
    if (status.si_code != CLD_EXITED) return formatted("ended by signal {}", status.si_status);
    if (status.si_status == cannot_start && output.errors.empty()) return "cannot be started";
    if (std::string line = last_line(output.errors); !line.empty()) return line;
    return formatted("ended with status {}", status.si_status);
}

// A call that a child process makes.
struct RunningCall {
    pid_t child = -1;
    UniqueFd output{};
};

// Runs in the child, which must not keep a pipe of this process open if it is left behind.
[[noreturn]] void make_call(const ChildCall& call, int output) {
    constexpr int kept = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, kept);
    close_from(kept + 1);
    _exit(write_all(kept, call()) ? 0 : 1);
}

RunningCall start_call(const ChildCall& call) {
    Pipe pipe = make_pipe();
    const pid_t child = pipe.is_open() ? fork() : -1;
    if (child == 0) make_call(call, pipe.write.fd());
    if (child < 0) return {};
    return {child, std::move(pipe.read)};
}

// Whether the child, which has closed its output, has returned from the call.
bool has_returned(pid_t child, Deadline deadline) {
    const siginfo_t status = wait_for(child, deadline, WNOWAIT);
    return status.si_code == CLD_EXITED && status.si_status == 0;
}

bool is_system_folder(std::string_view folder) {
    std::string_view folders = system_folders;
    while (!folders.empty()) {
        if (cut_until(folders, ':') == folder) return true;
    }
    return false;
}

// One character for each name: '1' if the folder has a program of that name, '0' if not.
std::string names_in_folder(std::string_view folder, std::span<const std::string_view> names) {
    std::string found;
    for (const std::string_view name : names) {
        found += is_program(formatted("{}/{}", folder, name)) ? '1' : '0';
    }
    return found;
}

// Runs in the child: system calls only. Writes errno to `report` if the program cannot be run.
[[noreturn]] void exec_program(char* const* arguments, const StartOptions& options, pid_t parent,
                               int report) {
    sigset_t no_signals;
    sigemptyset(&no_signals);
    sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    rlimit files{};
    if (options.open_file_limit && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = *options.open_file_limit;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    setsid();
    prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (getppid() != parent) _exit(1);  // the parent ended before the prctl()
    if (options.output >= 0) {
        dup2(options.output, STDOUT_FILENO);
        dup2(options.output, STDERR_FILENO);
    }
    execvp(arguments[0], arguments);
    const int problem = errno;
    [[maybe_unused]] const ssize_t size = write(report, &problem, sizeof problem);
    _exit(1);
}

// Reads what exec_program() reports; nullopt if the program runs.
std::optional<int> read_exec_error(int report) {
    int problem = 0;
    ssize_t size = 0;
    do {
        size = read(report, &problem, sizeof problem);
    } while (size < 0 && errno == EINTR);
    return size == sizeof problem ? std::optional(problem) : std::nullopt;
}

}  // namespace

void exec_without_variables(char* const* arguments) {
    std::array<char, 32> path{"PATH=/usr/sbin:/usr/bin"};
    std::array<char, 16> locale{"LC_ALL=C"};
    std::array<char*, 3> environment{path.data(), locale.data(), nullptr};
    execve(arguments[0], arguments, environment.data());
}

Result<std::string> run_command(const std::vector<std::string>& arguments,
                                std::chrono::milliseconds time_limit) {
    const std::string command = join(arguments, " ");
    const auto end = Clock::now() + time_limit;
    Pipe text = make_pipe();
    Pipe errors = make_pipe();
    const std::vector<char*> pointers = pointers_to(arguments);
    const pid_t child = fork();
    if (child == 0) exec_command(pointers.data(), text.write.fd(), errors.write.fd());
    if (child < 0) return Error{command, std::strerror(errno), ""};
    text.write = UniqueFd();
    errors.write = UniqueFd();
    Output output = read_output(text.read, errors.read, end);
    const siginfo_t status =
        output.end == End::closed ? wait_for(child, end, WNOWAIT) : siginfo_t{};
    kill_child(child);
    if (output.end == End::too_long) {
        return Error{command, formatted("printed more than {} MiB", max_output >> 20U), ""};
    }
    if (status.si_pid == 0) {
        return Error{command, "no answer within " + duration_text(time_limit), ""};
    }
    if (status.si_code == CLD_EXITED && status.si_status == 0) return std::move(output.text);
    return Error{command, failure_reason(output, status), ""};
}

std::vector<std::optional<std::string>> outputs_of_children(std::span<const ChildCall> calls,
                                                            Deadline deadline) {
    std::vector<RunningCall> running;
    std::vector<pollfd> streams;
    for (const ChildCall& call : calls) {
        running.push_back(start_call(call));
        streams.push_back({running.back().output.fd(), POLLIN, 0});
    }
    std::vector<std::string> texts(calls.size());
    read_streams(streams, texts, deadline);
    std::vector<std::optional<std::string>> outputs(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const pid_t child = running[i].child;
        if (child < 0) continue;
        if (streams[i].fd < 0 && has_returned(child, deadline)) outputs[i] = std::move(texts[i]);
        kill(child, SIGKILL);
    }
    constexpr std::chrono::milliseconds pause{100};  // in which those that can end do
    const auto end = Clock::now() + pause;
    for (const RunningCall& call : running) {
        if (call.child > 0) wait_for(call.child, end, 0);
    }
    return outputs;
}

std::optional<std::string> output_of_child(const ChildCall& call, Deadline deadline) {
    return outputs_of_children({&call, 1}, deadline).front();
}

bool is_program(const std::string& file) {
    struct stat status {};
    return stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) == 0;
}

std::vector<std::string> find_programs(std::string_view path,
                                       std::span<const std::string_view> names) {
    constexpr std::chrono::seconds timeout{1};
    constexpr std::size_t max_folders = 64;
    struct Folder {
        std::string_view path;
        std::optional<std::string> found;  // nullopt if a child is asked
    };
    std::vector<Folder> folders;
    std::vector<ChildCall> calls;
    std::string in_system(names.size(), '0');
    // No later folder is needed for what the system's folders have.
    while (!path.empty() && folders.size() < max_folders &&
           in_system.find('0') != std::string::npos) {
        const std::string_view folder = cut_until(path, ':');
        if (!folder.starts_with('/')) continue;
        if (!is_system_folder(folder)) {
            folders.push_back({folder, std::nullopt});
            calls.emplace_back([=] { return names_in_folder(folder, names); });
            continue;
        }
        folders.push_back({folder, names_in_folder(folder, names)});
        for (std::size_t i = 0; i < names.size(); ++i) {
            in_system[i] = std::max(in_system[i], (*folders.back().found)[i]);
        }
    }
    const auto answers = outputs_of_children(calls, Clock::now() + timeout);
    std::vector<std::string> programs(names.size());
    auto answer = answers.begin();
    for (const auto& [folder, known] : folders) {
        const std::string found = known ? *known : (answer++)->value_or("");
        for (std::size_t i = 0; i < std::min(found.size(), names.size()); ++i) {
            if (found[i] == '1' && programs[i].empty()) {
                programs[i] = formatted("{}/{}", folder, names[i]);
            }
        }
    }
    return programs;
}

int replace_process(const std::vector<std::string>& arguments) {
    const std::vector<char*> pointers = pointers_to(arguments);
    execvp(pointers.front(), pointers.data());
    return errno;
}

Started start_program(const std::vector<std::string>& program, const StartOptions& options) {
    const std::vector<char*> arguments = pointers_to(program);
    Pipe report = make_pipe();
    const pid_t parent = getpid();
    const pid_t child = report.write.is_open() ? fork() : -1;
    if (child == 0) exec_program(arguments.data(), options, parent, report.write.fd());
    const int fork_error = errno;
    report.write = UniqueFd();
    const auto problem = child < 0 ? std::optional(fork_error) : read_exec_error(report.read.fd());
    if (!problem) return {child};
    return {child,
            NotStarted{{program.front(), std::strerror(*problem), "name a program that can be run"},
                       *problem == ENOENT}};
}

std::string ending_text(int wait_status) {
    if (!WIFSIGNALED(wait_status)) {
        return formatted("ended with status {}", WEXITSTATUS(wait_status));
    }
    constexpr std::array<std::pair<int, std::string_view>, 5> names{{{SIGABRT, " (SIGABRT)"},
                                                                     {SIGBUS, " (SIGBUS)"},
                                                                     {SIGKILL, " (SIGKILL)"},
                                                                     {SIGSEGV, " (SIGSEGV)"},
                                                                     {SIGTERM, " (SIGTERM)"}}};
    const int signal = WTERMSIG(wait_status);
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const auto& each) { return each.first == signal; });
    return formatted("was killed by signal {}{}", signal, name == names.end() ? "" : name->second);
}

std::uint64_t raise_open_file_limit() {
    rlimit limits{};
    getrlimit(RLIMIT_NOFILE, &limits);
    const rlim_t old_limit = limits.rlim_cur;
    limits.rlim_cur = limits.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limits);
    return old_limit;
}

}  // namespace distgpu
