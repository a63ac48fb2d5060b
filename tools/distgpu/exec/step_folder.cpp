#include "exec/step_folder.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/io/write.h"
#include "node/machine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::string_view lock_name = "/.distgpu";

Error not_made(const FolderRule& rule, const std::string& path, int problem) {
    const bool shared = problem == EEXIST;
    return {path,
            shared ? "already there, as where the nodes share the folder around it"
                   : std::strerror(problem),
            formatted("let {} name a folder that every node has for itself", rule.variable)};
}

// Who may find out by a lock whether a step still runs: a lock on a folder that nodes share may be
// the node's own (nfs local_lock, lustre localflock). Empty: not known.
struct Owner {
    std::string boot;  // of its kernel, which knows all the locks that are made under it
    std::string host;
};

Owner this_node() {
    return {read_trimmed("/proc/sys/kernel/random/boot_id").value_or(""), host_name()};
}

// Whether a lock that can be had here says that nobody has it. After another boot of this node,
// too.
bool can_tell(const std::string& owner) {
    const Owner here = this_node();
    const std::size_t space = std::min(owner.find(' '), owner.size());
    return space > 0 && space < owner.size() && !here.boot.empty() &&
           (owner.substr(0, space) == here.boot || owner.substr(space + 1) == here.host);
}

// A folder without a lock is never taken for one that was left.
UniqueFd lock_in(const std::string& folder) {
    const std::string name = folder + std::string(lock_name);
    constexpr mode_t for_me_alone = 0600;
    UniqueFd lock(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, for_me_alone));
    if (!lock.is_open()) return lock;
    flock(lock.fd(), LOCK_EX | LOCK_NB);
    const Owner owner = this_node();
    // Without its owner nobody takes it for one that was left.
    const std::string text = owner.boot + ' ' + owner.host + '\n';
    static_cast<void>(write_all(lock.fd(), text));
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

StepFolder::~StepFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

Result<StepFolder> StepFolder::make(const FolderRule& rule) {
    const char* const around = std::getenv(rule.variable.c_str());
    std::string path = formatted("{}/{}XXXXXX", around == nullptr ? "/tmp" : around, rule.prefix);
    if (path.size() > rule.longest) {
        return Error{
            path, formatted("longer than {} bytes, too long for the sockets in it", rule.longest),
            formatted("let {} name a folder nearer to the root", rule.variable)};
    }
    if (mkdtemp(path.data()) == nullptr) return not_made(rule, path, errno);
    remove_left_ones(rule, std::filesystem::path(path).parent_path());
    return StepFolder(path, lock_in(path));
}

Result<StepFolder> StepFolder::make_at(const FolderRule& rule, const std::string& path) {
    constexpr mode_t for_me_alone = 0700;
    if (mkdir(path.c_str(), for_me_alone) != 0) return not_made(rule, path, errno);
    remove_left_ones(rule, std::filesystem::path(path).parent_path());
    return StepFolder(path, lock_in(path));
}

}  // namespace distgpu
