// What one node starts, and the folder in which that keeps its files.
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

// Only the end of the companion's output is kept: it tells what went wrong.
constexpr std::size_t most_kept = 4096;

constexpr std::string_view lock_name = "/.distgpu";

Error not_made(const FolderRule& rule, const std::string& path, int problem) {
    const bool shared = problem == EEXIST;
    return {path,
            shared ? "already there, as where the nodes share the folder around it"
                   : std::strerror(problem),
            formatted("let {} name a folder that every node has for itself", rule.variable)};
}

// Of this node's kernel, which knows all the locks that are made under it; empty: not known.
std::string boot_id() {
    return read_trimmed("/proc/sys/kernel/random/boot_id").value_or("");
}

// Whether a lock that can be had here says that nobody has it: one on a folder that nodes share may
// be the node's own (nfs local_lock, lustre localflock). After another boot of this node, too.
// `owner`: its boot id and its host.
bool can_tell(const std::string& owner) {
    std::string_view host = owner;
    const std::string_view boot = take_until(host, ' ');
    const std::string here = boot_id();
    return !boot.empty() && !host.empty() && !here.empty() && (boot == here || host == host_name());
}

// A folder without a lock is never taken for one that was left.
UniqueFd lock_in(const std::string& folder) {
    const std::string name = folder + std::string(lock_name);
    constexpr mode_t for_me_alone = 0600;
    UniqueFd lock(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, for_me_alone));
    if (!lock.is_open()) return lock;
    flock(lock.fd(), LOCK_EX | LOCK_NB);
    // Without its owner nobody takes it for one that was left.
    static_cast<void>(write_all(lock.fd(), boot_id() + ' ' + host_name() + '\n'));
    return lock;
}

// Whether this user's `distgpu exec` made it and is gone. One that was just made may not be locked
// yet.
bool is_left(const std::string& folder) {
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
           can_tell(read_trimmed(name).value_or("")) && flock(lock.fd(), LOCK_EX | LOCK_NB) == 0;
}

// multiprocessing/resource_tracker.py: "python3 -c 'from multiprocessing.resource_tracker import
// main;main(7)'". It ignores SIGTERM, too.
bool is_tracker(pid_t pid) {
    const auto command = read_trimmed(formatted("/proc/{}/cmdline", pid));
    return command && command->find("multiprocessing.resource_tracker") != std::string::npos;
}

void remove_left_ones(const FolderRule& rule, const std::filesystem::path& around) {
    // The other entries are anybody's.
    constexpr int most = 10'000;
    std::error_code error;
    int seen = 0;
    for (std::filesystem::directory_iterator each(around, error), end;
         !error && each != end && seen < most; each.increment(error), ++seen) {
        const std::string path = each->path();
        std::error_code ignored;
        if (each->path().filename().native().starts_with(rule.prefix) && is_left(path)) {
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
    constexpr mode_t for_me_alone = 0700;
    bool is_made = false;
    if (!path.empty()) {
        is_made = mkdir(path.c_str(), for_me_alone) == 0;
    } else {
        const char* const around = std::getenv(rule.variable.c_str());
        path = formatted("{}/{}XXXXXX", around == nullptr ? "/tmp" : around, rule.prefix);
        if (path.size() > rule.longest) {
            return Error{
                path,
                formatted("longer than {} bytes, too long for the sockets in it", rule.longest),
                formatted("let {} name a folder nearer to the root", rule.variable)};
        }
        is_made = mkdtemp(path.data()) != nullptr;
    }
    if (!is_made) return not_made(rule, path, errno);
    remove_left_ones(rule, std::filesystem::path(path).parent_path());
    UniqueFd lock = lock_in(path);
    return StepFolder(std::move(path), std::move(lock));
}

Parts::Parts(const PartCommands& commands)
    : commands_(commands), usual_files_(raise_open_files()) {}

std::optional<Error> Parts::make_folder(const std::string& path) {
    auto folder = StepFolder::make(commands_.folder, path);
    if (!folder) return folder.error();
    folder_ = *std::move(folder);
    if (!path.empty()) return std::nullopt;
    const auto written = replace_file(environment_file(), commands_.environment, Readers::by_umask);
    return written ? std::nullopt : std::optional(written.error());
}

std::optional<NotStarted> Parts::start_program() {
    if (!has_companion()) {
        if (auto folder = StepFolder::make(commands_.folder)) {
            folder_ = *std::move(folder);
            setenv(commands_.folder.variable.c_str(), folder_.path().c_str(), 1);
        }
    }
    return start(Part::program, commands_.program, {});
}

std::optional<NotStarted> Parts::start(Part part, const std::vector<std::string>& command,
                                       StartOptions options) {
    options.open_files = usual_files_;
    Started started = distgpu::start_program(command, options);
    if (!started.problem) running_[part] = started.pid;
    return std::move(started.problem);
}

std::optional<NotStarted> Parts::start_companion(bool is_head) {
    std::vector<std::string> command = commands_.companion;
    if (is_head) command.insert(command.end(), {commands_.folder_option, folder_.path()});
    Pipe output = make_pipe(O_CLOEXEC | O_NONBLOCK);
    if (!output.is_open()) return NotStarted{{command.front(), std::strerror(errno), ""}};
    output_ = std::move(output.read);
    fcntl(output.write.fd(), F_SETFL, 0);  // the companion's own end blocks
    // By SIGTERM it ends what it started itself, which Slurm would not (proctrack/linuxproc).
    return start(Part::companion, command, {.output = output.write.fd(), .death_signal = SIGTERM});
}

void Parts::start_query() {
    if (commands_.query.empty()) return;
    // What it prints may be the token itself.
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nowhere.is_open()) start(Part::query, commands_.query, {.output = nowhere.fd()});
}

bool Parts::read_output() {
    std::array<char, most_kept> piece{};
    const ssize_t got = read(output_.fd(), piece.data(), piece.size());
    if (got < 0) return false;
    if (got == 0) output_ = UniqueFd();
    output_text_.append(piece.data(), static_cast<std::size_t>(got));
    companion_is_ready_ |= output_text_.find(commands_.up_text) != std::string::npos;
    output_text_.erase(0, output_text_.size() - std::min(output_text_.size(), most_kept));
    return got > 0;
}

bool Parts::becomes_ready() {
    if (!output_.is_open()) return false;
    const bool was_ready = companion_is_ready_;
    read_output();
    return companion_is_ready_ && !was_ready;
}

const std::string& Parts::last_output() {
    // Others may still hold the pipe and print without end: read only what is there by now.
    int left = 0;
    if (ioctl(output_.fd(), FIONREAD, &left) != 0) left = 0;
    for (; left > 0 && read_output(); left -= static_cast<int>(most_kept)) {
    }
    return output_text_;
}

std::optional<Parts::Part> Parts::take_end(pid_t child) {
    for (const auto& [part, pid] : running_) {
        if (pid != child) continue;
        const Part ended = part;
        running_.erase(ended);
        return ended;
    }
    return std::nullopt;
}

void Parts::signal(Part part, int signal) const {
    if (runs(part)) kill(running_.at(part), signal);
}

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
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
    const auto parents = read_parents();
    std::set<pid_t> family{getpid()};
    // A parent may have a higher number than its child.
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& [pid, parent] : parents) {
            if (family.contains(parent)) grown = family.insert(pid).second || grown;
        }
    }
    family.erase(getpid());
    for (const pid_t pid : family) {
        if (spared == Spared::nobody || !is_tracker(pid)) kill(pid, SIGKILL);
    }
}

}  // namespace distgpu
