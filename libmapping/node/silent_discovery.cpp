#include "node/silent_discovery.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/io/write.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace distgpu {
namespace {

using Time = std::chrono::nanoseconds;  // since the epoch

constexpr std::chrono::minutes remembered_for{10};

using stat_fields = struct stat;

std::string folder(const MachineRoots& roots) {
    return roots.run + "/distgpu";
}

std::string note_of(uid_t user, const MachineRoots& roots) {
    return formatted("{}/silent-discovery.{}", folder(roots), user);
}

std::string text_of(const TopologySource& source) {
    return formatted("{}\n{}\n", source.command, source.file);
}

// One of a file's times; nothing: there is no such file.
std::optional<Time> time_of(const std::string& path, timespec stat_fields::*which) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return std::chrono::seconds{(status.*which).tv_sec} + Time{(status.*which).tv_nsec};
}

std::optional<Time> changed(const std::string& path) {
    return time_of(path, &stat_fields::st_ctim);
}

}  // namespace

bool is_silent(const TopologySource& source, uid_t user, const MachineRoots& roots) {
    const std::string note = note_of(user, roots);
    const auto noted = time_of(note, &stat_fields::st_mtim);
    if (!noted) return false;
    const auto age = std::chrono::system_clock::now().time_since_epoch() - *noted;
    // A clock that was put back would make it last.
    if (age < Time{0} || age >= remembered_for) return false;
    if (std::max(changed(source.command), changed(source.file)) > noted) return false;
    const auto text = read_regular_file(note);
    return text && *text == text_of(source);
}

void note_silent(const TopologySource& source, uid_t user, const MachineRoots& roots) {
    constexpr mode_t entered_by_all = 0755;
    const std::string parent = folder(roots);
    // Its mode is not to depend on the umask.
    if (mkdir(parent.c_str(), 0) == 0) chmod(parent.c_str(), entered_by_all);
    static_cast<void>(replace_file(note_of(user, roots), text_of(source), Readers::everyone));
}

}  // namespace distgpu
