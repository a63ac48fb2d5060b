#include "base/io/files.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

UniqueFd open_file(const std::string& path, int flags = 0) {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags));
}

// Appends the file's contents to `text`, and stops beyond `max_size` bytes. Reads to the end,
// because the sizes of files in /proc (0) and /sys (4096) are wrong. On failure sets errno.
bool read_all(int fd, std::size_t max_size, std::string& text) {
    // A page, because -fstack-clash-protection touches each page of a larger one.
    std::array<char, 4096> block;
    while (text.size() <= max_size) {
        const ssize_t count = read(fd, block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
    return true;
}

Error read_error(const std::string& path) {
    return {path, std::strerror(errno), "name a file that this user can read"};
}

// Creates a file in the folder of `path` and sets `temporary` to its name. Not with mkstemp(),
// whose files are readable only by their owner: only the kernel knows the umask.
int create_temporary(const std::string& path, std::string& temporary) {
    constexpr mode_t before_umask = 0666;
    for (unsigned number = 0;; ++number) {
        temporary = path + ".new" + std::to_string(number);
        const int fd =
            open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, before_umask);
        // EEXIST: another process is writing it, or died while it did.
        if (fd >= 0 || errno != EEXIST) return fd;
    }
}

bool write_and_close(int fd, std::string_view text, Readers readers) {
    const mode_t mode = readers == Readers::owner ? 0600 : 0644;
    const bool is_written =
        (readers == Readers::by_umask || fchmod(fd, mode) == 0) && write_all(fd, text);
    return close(fd) == 0 && is_written;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::string remedy) {
    const UniqueFd file = open_file(path);
    std::string text;
    if (file.is_open() && read_all(file.fd(), text.max_size(), text)) return text;
    return Error{path, std::strerror(errno), std::move(remedy)};
}

Result<std::string> read_regular_file(const std::string& path, std::size_t max_size) {
    // Opening a FIFO without a writer would otherwise block.
    const UniqueFd file = open_file(path, O_NONBLOCK);
    struct stat status {};
    if (!file.is_open() || fstat(file.fd(), &status) != 0) return read_error(path);
    if (!S_ISREG(status.st_mode)) return Error{path, "not a regular file", "name a regular file"};
    std::string text;
    if (!read_all(file.fd(), max_size, text)) return read_error(path);
    if (text.size() <= max_size) return text;
    return Error{path, formatted("larger than {} MiB", max_size >> 20U), "name a smaller file"};
}

std::optional<std::string> read_trimmed(const std::string& path) {
    auto text = read_regular_file(path);
    if (!text) return std::nullopt;
    text->erase(text->find_last_not_of(" \t\r\n") + 1);
    return *std::move(text);
}

std::vector<std::string> files_in(const std::string& folder) {
    // std::filesystem would bring the plugin std::locale (format.cpp).
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    std::vector<std::string> names;
    while (const dirent* const entry = entries ? readdir(entries.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string_view value_after(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        if (!line.starts_with(key)) continue;
        return trimmed(line.substr(key.size()));
    }
    return {};
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = write(fd, text.data(), text.size());
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

Result<Done> replace_file(const std::string& path, std::string_view text, Readers readers) {
    // As root this would otherwise replace /dev/null by a file, which breaks every program.
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        return Error{path, "not a regular file", "name a file that may be replaced"};
    }
    std::string temporary;
    const int fd = create_temporary(path, temporary);
    if (fd >= 0 && write_and_close(fd, text, readers) &&
        std::rename(temporary.c_str(), path.c_str()) == 0) {
        return Done{};
    }
    const Error error{path, std::strerror(errno), "name a file in a writable folder"};
    if (fd >= 0) unlink(temporary.c_str());
    return error;
}

}  // namespace distgpu
