#include "base/io/programs.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::size_t max_output = std::size_t{16} << 20U;
constexpr int cannot_start = 127;  // the status of a shell that cannot start a command

// Runs in the child. System calls only: other threads of slurmstepd may have held any lock.
[[noreturn]] void exec_command(char* const* arguments, int output, int errors) {
    constexpr unsigned first_to_close = 3;
    const int input = open("/dev/null", O_RDONLY);
    const bool ready = dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                       dup2(errors, STDERR_FILENO) >= 0 && setpgid(0, 0) == 0 &&
                       setresgid(getegid(), getegid(), getegid()) == 0 &&
                       setresuid(geteuid(), geteuid(), geteuid()) == 0;
    sigset_t no_signals;
    sigemptyset(&no_signals);
    sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    syscall(SYS_close_range, first_to_close, ~0U, 0);
    std::array<char, 32> path{"PATH=/usr/sbin:/usr/bin"};
    std::array<char, 16> locale{"LC_ALL=C"};
    std::array<char*, 3> environment{path.data(), locale.data(), nullptr};
    if (ready) execve(arguments[0], arguments, environment.data());
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
    End end = End::timed_out;
};

// Appends one block. Returns false at the end of the stream.
bool read_some(int stream, std::string& text) {
    std::array<char, 65536> buffer{};
    const ssize_t size = read(stream, buffer.data(), buffer.size());
    if (size < 0) return errno == EINTR;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    return size > 0;
}

// Reads until both streams are closed, the time is over, or one is longer than max_output.
Output read_output(const UniqueFd& text, const UniqueFd& errors, Deadline end) {
    Output output;
    std::array<pollfd, 2> streams{pollfd{text.fd(), POLLIN, 0}, pollfd{errors.fd(), POLLIN, 0}};
    const std::array<std::string*, 2> texts{&output.text, &output.errors};
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        if (Clock::now() >= end) return output;
        if (poll_until(streams, end) <= 0) continue;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            // poll() ignores negative descriptors.
            if (streams[i].revents != 0 && !read_some(streams[i].fd, *texts[i])) streams[i].fd = -1;
        }
        if (std::max(output.text.size(), output.errors.size()) > max_output) {
            output.end = End::too_long;
            return output;
        }
    }
    output.end = End::closed;
    return output;
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

// Runs in the child: system calls only. Writes errno to `report` if the program cannot be run.
[[noreturn]] void exec_program(char* const* arguments, const StartOptions& options, pid_t parent,
                               int report) {
    sigset_t no_signals;
    sigemptyset(&no_signals);
    sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = options.open_file_limit;
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
        return Error{command, formatted("no answer within {} ms", time_limit.count()), ""};
    }
    if (status.si_code == CLD_EXITED && status.si_status == 0) return std::move(output.text);
    return Error{command, failure_reason(output, status), ""};
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

std::uint64_t raise_open_file_limit() {
    rlimit limits{};
    getrlimit(RLIMIT_NOFILE, &limits);
    const rlim_t old_limit = limits.rlim_cur;
    limits.rlim_cur = limits.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limits);
    return old_limit;
}

}  // namespace distgpu
