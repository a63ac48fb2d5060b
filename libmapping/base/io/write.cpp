#include "base/io/write.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

// A new file beside `path`, the name of which it returns in `draft`. Not mkstemp(), whose files
// only their owner may read: the umask is known to the kernel alone.
int create_beside(const std::string& path, std::string& draft) {
    constexpr mode_t before_umask = 0666;
    for (unsigned number = 0;; ++number) {
        draft = path + ".new" + std::to_string(number);
        const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, before_umask);
        if (fd >= 0 || errno != EEXIST) return fd;  // else another one writes, or has died
    }
}

bool fill(int fd, std::string_view text, Readers readers) {
    constexpr mode_t readable_by_all = 0644;
    const bool filled =
        (readers == Readers::by_umask || fchmod(fd, readable_by_all) == 0) && write_all(fd, text);
    return close(fd) == 0 && filled;
}

// Root would put a file in the place of /dev/null, and every program would feel it.
bool is_special(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = write(fd, text.data(), text.size());
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

Result<Done> replace_file(const std::string& path, std::string_view text, Readers readers) {
    if (is_special(path)) {
        return Error{path, "not a regular file", "name a file that may be replaced"};
    }
    std::string draft;
    const int fd = create_beside(path, draft);
    if (fd >= 0 && fill(fd, text, readers) && std::rename(draft.c_str(), path.c_str()) == 0) {
        return Done{};
    }
    const Error error{path, std::strerror(errno), "name a file in a writable folder"};
    if (fd >= 0) unlink(draft.c_str());
    return error;
}

}  // namespace distgpu
