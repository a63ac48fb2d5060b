#include "base/io/file_text.h"

#include "base/format.h"
#include "base/io/unique_fd.h"
#include "base/take_until.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

constexpr std::string_view white_space = " \t\r\n";
UniqueFd open_file(const std::string& path, int flags = 0) {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags));
}

// Adds what the file holds, and stops beyond `most` bytes. To the end and not by size: files of
// /proc are 0 bytes long and those of /sys 4096. False: errno says why not.
bool read_all(int fd, std::size_t most, std::string& text) {
    std::array<char, 65536> block;
    while (text.size() <= most) {
        const ssize_t count = read(fd, block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
    return true;
}

Error unreadable(const std::string& path) {
    return {path, std::strerror(errno), "name a file that this user can read"};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::string remedy) {
    const UniqueFd file = open_file(path);
    std::string text;
    if (file.is_open() && read_all(file.fd(), text.max_size(), text)) return text;
    return Error{path, std::strerror(errno), std::move(remedy)};
}

Result<std::string> read_regular_file(const std::string& path, std::size_t most) {
    // A FIFO without a writer does not hold us up before we see what it is.
    const UniqueFd file = open_file(path, O_NONBLOCK);
    struct stat status {};
    if (!file.is_open() || fstat(file.fd(), &status) != 0) return unreadable(path);
    if (!S_ISREG(status.st_mode)) return Error{path, "not a regular file", "name a regular file"};
    std::string text;
    if (!read_all(file.fd(), most, text)) return unreadable(path);
    if (text.size() <= most) return text;
    return Error{path, formatted("larger than {} MiB", most >> 20U), "name a smaller file"};
}

std::optional<std::string> read_trimmed(const std::string& path) {
    auto text = read_regular_file(path);
    if (!text) return std::nullopt;
    text->erase(text->find_last_not_of(white_space) + 1);
    return *std::move(text);
}

std::string_view value_after(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        std::string_view line = take_until(text, '\n');
        if (!line.starts_with(key)) continue;
        line.remove_prefix(key.size());
        line.remove_prefix(std::min(line.find_first_not_of(white_space), line.size()));
        return line.substr(0, line.find_last_not_of(white_space) + 1);
    }
    return {};
}

}  // namespace distgpu
