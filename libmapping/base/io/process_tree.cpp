#include "base/io/process_tree.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// In the child: system calls only. What went wrong goes through `report`.
[[noreturn]] void become(char* const* arguments, const StartOptions& options, pid_t parent,
                         int report) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = options.open_files;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    setsid();
    prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (getppid() != parent) _exit(1);  // it ended before that
    if (options.output >= 0) {
        dup2(options.output, STDOUT_FILENO);
        dup2(options.output, STDERR_FILENO);
    }
    execvp(arguments[0], arguments);
    const int problem = errno;
    [[maybe_unused]] const ssize_t told = write(report, &problem, sizeof problem);
    _exit(1);
}

// Nothing: it runs.
std::optional<int> why_not(int report) {
    int problem = 0;
    ssize_t got = 0;
    do {
        got = read(report, &problem, sizeof problem);
    } while (got < 0 && errno == EINTR);
    return got == sizeof problem ? std::optional(problem) : std::nullopt;
}

// The parent in a line of /proc/PID/stat, "PID (NAME) S PPID ...", where NAME is any text.
std::optional<pid_t> parent_in(std::string_view stat) {
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string_view::npos || name_end + 4 > stat.size()) return std::nullopt;
    stat.remove_prefix(name_end + 4);
    return number_below(stat.substr(0, stat.find(' ')), std::size_t{1} << 31U);
}

std::vector<std::pair<pid_t, pid_t>> processes_and_parents() {
    std::vector<std::pair<pid_t, pid_t>> processes;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const auto pid = number_below(entry.path().filename().native(), std::size_t{1} << 31U);
        if (!pid) continue;
        const auto stat = read_trimmed(entry.path() / "stat");
        const auto parent = stat ? parent_in(*stat) : std::nullopt;
        if (parent) processes.emplace_back(*pid, *parent);
    }
    return processes;
}

// multiprocessing/resource_tracker.py: "python3 -c 'from multiprocessing.resource_tracker import
// main;main(7)'". It ignores SIGTERM, too.
bool is_tracker(pid_t pid) {
    const auto command = read_trimmed(formatted("/proc/{}/cmdline", pid));
    return command && command->find("multiprocessing.resource_tracker") != std::string::npos;
}

}  // namespace

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Started start_program(const std::vector<std::string>& program, const StartOptions& options) {
    std::vector<char*> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string& argument : program) {
        arguments.push_back(const_cast<char*>(argument.c_str()));  // execvp() does not change them
    }
    arguments.push_back(nullptr);
    std::array<int, 2> report{-1, -1};
    const pid_t parent = getpid();
    const pid_t child = pipe2(report.data(), O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) become(arguments.data(), options, parent, report[1]);
    const int forked = errno;
    close(report[1]);
    const auto problem = child < 0 ? std::optional(forked) : why_not(report[0]);
    close(report[0]);
    if (!problem) return {child};
    return {child,
            NotStarted{{program.front(), std::strerror(*problem), "name a program that can be run"},
                       *problem == ENOENT}};
}

std::optional<Ended> next_ended() {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child <= 0) return std::nullopt;
    constexpr int signalled = 128;
    return Ended{child, WIFEXITED(status) ? WEXITSTATUS(status) : signalled + WTERMSIG(status)};
}

bool has_children() {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void kill_descendants(Spared spared) {
    const auto processes = processes_and_parents();
    std::set<pid_t> family{getpid()};
    // A parent may have a higher number than its child.
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& [pid, parent] : processes) {
            if (family.contains(parent)) grown = family.insert(pid).second || grown;
        }
    }
    family.erase(getpid());
    for (const pid_t pid : family) {
        if (spared == Spared::nobody || !is_tracker(pid)) kill(pid, SIGKILL);
    }
}

}  // namespace distgpu
