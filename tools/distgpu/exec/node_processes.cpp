// The processes that one node starts, and the folder for their files.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "exec/supervise.h"
#include "inspect/process_facts.h"
#include "node/machine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Only the end of the companion's output is kept, which shows what went wrong.
constexpr std::size_t max_kept = 4096;

constexpr std::string_view lock_name = "/.distgpu";

Error folder_error(const FolderRule& rule, const std::string& path, int problem) {
    const bool exists = problem == EEXIST;
    return {path,
            exists ? "already exists, perhaps because the nodes share its parent folder"
                   : std::strerror(problem),
            formatted("set {} to a folder that is local to each node", rule.variable)};
}

// Identifies the current boot of this node, for which its kernel knows all locks; empty if unknown.
std::string boot_id() {
    return read_trimmed("/proc/sys/kernel/random/boot_id").value_or("");
}

// Whether a free lock means that its owner has ended. On a folder that nodes share, locks may be
// local to a node (nfs local_lock, lustre localflock), so the owner must be from the current boot
// of this node, or from an earlier one. `owner`: its boot id and its host.
bool is_from_this_node(const std::string& owner) {
    std::string_view host = owner;
    const std::string_view boot = cut_until(host, ' ');
    const std::string here = boot_id();
    return !boot.empty() && !host.empty() && !here.empty() && (boot == here || host == host_name());
}

// Makes the lock file. A folder without one is never treated as abandoned.
UniqueFd make_lock(const std::string& folder) {
    const std::string name = folder + std::string(lock_name);
    constexpr mode_t owner_only = 0600;
    UniqueFd lock(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, owner_only));
    if (!lock.is_open()) return lock;
    flock(lock.fd(), LOCK_EX | LOCK_NB);
    // If this fails, the folder is never treated as abandoned.
    static_cast<void>(write_all(lock.fd(), boot_id() + ' ' + host_name() + '\n'));
    return lock;
}

// Whether this user's `distgpu exec` made the folder and has ended. A new one may not be locked
// yet.
bool is_abandoned(const std::string& folder) {
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid()) {
        return false;
    }
    const std::string name = folder + std::string(lock_name);
    const UniqueFd lock(open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    constexpr std::time_t minute = 60;
    return lock.is_open() && fstat(lock.fd(), &status) == 0 &&
           std::time(nullptr) - status.st_mtime > minute &&
           is_from_this_node(read_trimmed(name).value_or("")) &&
           flock(lock.fd(), LOCK_EX | LOCK_NB) == 0;
}

// multiprocessing/resource_tracker.py: "python3 -c 'from multiprocessing.resource_tracker import
// main;main(7)'". It also ignores SIGTERM.
bool is_tracker(pid_t pid) {
    const auto command = read_trimmed(formatted("/proc/{}/cmdline", pid));
    return command && command->find("multiprocessing.resource_tracker") != std::string::npos;
}

void remove_abandoned(const FolderRule& rule, const std::filesystem::path& parent) {
    // The parent, such as /tmp, may have any number of other entries.
    constexpr int max_entries = 10'000;
    std::error_code error;
    int seen = 0;
    for (std::filesystem::directory_iterator each(parent, error), end;
         !error && each != end && seen < max_entries; each.increment(error), ++seen) {
        const std::string path = each->path();
        std::error_code ignored;
        if (each->path().filename().native().starts_with(rule.prefix) && is_abandoned(path)) {
            std::filesystem::remove_all(path, ignored);
        }
    }
}

}  // namespace

// The lock is held until the folder is gone.
StepFolder::~StepFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

Result<StepFolder> StepFolder::make(const FolderRule& rule, std::string path) {
    constexpr mode_t owner_only = 0700;
    bool is_made = false;
    if (!path.empty()) {
        is_made = mkdir(path.c_str(), owner_only) == 0;
    } else {
        const char* const parent = std::getenv(rule.variable.c_str());
        path = formatted("{}/{}XXXXXX", parent == nullptr ? "/tmp" : parent, rule.prefix);
        if (path.size() > rule.max_length) {
            return Error{
                path,
                formatted("longer than {} bytes, too long for the sockets in it", rule.max_length),
                formatted("set {} to a folder with a shorter path", rule.variable)};
        }
        is_made = mkdtemp(path.data()) != nullptr;
    }
    if (!is_made) return folder_error(rule, path, errno);
    remove_abandoned(rule, std::filesystem::path(path).parent_path());
    UniqueFd lock = make_lock(path);
    return StepFolder(std::move(path), std::move(lock));
}

NodeProcesses::NodeProcesses(const NodeCommands& commands)
    : commands_(commands), original_file_limit_(raise_open_file_limit()) {}

std::optional<Error> NodeProcesses::make_folder(const std::string& path) {
    auto folder = StepFolder::make(commands_.folder, path);
    if (!folder) return folder.error();
    folder_ = *std::move(folder);
    if (!path.empty()) return std::nullopt;
    const auto written = replace_file(environment_file(), commands_.environment, Readers::by_umask);
    return written ? std::nullopt : std::optional(written.error());
}

std::optional<NotStarted> NodeProcesses::start_program() {
    if (!has_companion()) {
        if (auto folder = StepFolder::make(commands_.folder)) {
            folder_ = *std::move(folder);
            setenv(commands_.folder.variable.c_str(), folder_.path().c_str(), 1);
        }
    }
    return start(Role::program, commands_.program, {});
}

std::optional<NotStarted> NodeProcesses::start(Role role, const std::vector<std::string>& command,
                                               StartOptions options) {
    options.open_file_limit = original_file_limit_;
    Started started = distgpu::start_program(command, options);
    if (!started.problem) running_[role] = started.pid;
    return std::move(started.problem);
}

std::optional<NotStarted> NodeProcesses::start_companion(bool is_head) {
    std::vector<std::string> command = commands_.companion;
    if (is_head) command.insert(command.end(), {commands_.folder_option, folder_.path()});
    Pipe output = make_pipe(O_CLOEXEC | O_NONBLOCK);
    if (!output.is_open()) return NotStarted{{command.front(), std::strerror(errno), ""}};
    output_ = std::move(output.read);
    fcntl(output.write.fd(), F_SETFL, 0);  // the companion's end blocks
    // On SIGTERM it ends the processes that it started; Slurm would not (proctrack/linuxproc).
    return start(Role::companion, command, {.output = output.write.fd(), .death_signal = SIGTERM});
}

void NodeProcesses::start_query() {
    if (commands_.query.empty()) return;
    // It may print the token.
    const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (null.is_open()) start(Role::query, commands_.query, {.output = null.fd()});
}

bool NodeProcesses::read_output() {
    std::array<char, max_kept> piece{};
    const ssize_t got = read(output_.fd(), piece.data(), piece.size());
    if (got < 0) return false;
    if (got == 0) output_ = UniqueFd();
    output_text_.append(piece.data(), static_cast<std::size_t>(got));
    is_companion_ready_ |= output_text_.find(commands_.ready_text) != std::string::npos;
    output_text_.erase(0, output_text_.size() - std::min(output_text_.size(), max_kept));
    return got > 0;
}

bool NodeProcesses::has_become_ready() {
    if (!output_.is_open()) return false;
    const bool was_ready = is_companion_ready_;
    read_output();
    return is_companion_ready_ && !was_ready;
}

const std::string& NodeProcesses::last_output() {
    // Other processes may still hold the pipe and print without end: read only what is there now.
    int available = 0;
    if (ioctl(output_.fd(), FIONREAD, &available) != 0) available = 0;
    for (; available > 0 && read_output(); available -= static_cast<int>(max_kept)) {
    }
    return output_text_;
}

std::optional<NodeProcesses::Role> NodeProcesses::remove_ended(pid_t child) {
    for (const auto& [role, pid] : running_) {
        if (pid != child) continue;
        const Role ended = role;
        running_.erase(ended);
        return ended;
    }
    return std::nullopt;
}

void NodeProcesses::send_signal(Role role, int signal) const {
    if (is_running(role)) kill(running_.at(role), signal);
}

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::optional<EndedChild> reap_child() {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child <= 0) return std::nullopt;
    constexpr int signalled = 128;
    return EndedChild{child,
                      WIFEXITED(status) ? WEXITSTATUS(status) : signalled + WTERMSIG(status)};
}

bool has_children() {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void kill_descendants(Trackers trackers) {
    for (const pid_t pid : read_process_tree().below(getpid())) {
        if (trackers == Trackers::kill || !is_tracker(pid)) kill(pid, SIGKILL);
    }
}

}  // namespace distgpu
