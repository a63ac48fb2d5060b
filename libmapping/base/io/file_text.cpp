// See file_text.h.
#include "base/io/file_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr std::size_t largest = std::size_t{64} << 20U;

class OpenFile {
  public:
    // O_NONBLOCK: a FIFO without a writer does not hold us up before we see what it is.
    explicit OpenFile(const std::string& path)
        : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    ~OpenFile() {
        if (fd_ >= 0) close(fd_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    OpenFile(OpenFile&&) = delete;
    OpenFile& operator=(OpenFile&&) = delete;

    int fd() const { return fd_; }

  private:
    int fd_;
};

Error unreadable(const std::string& path) {
    return {path, std::strerror(errno), "name a file that this user can read"};
}

}  // namespace

Result<std::string> read_regular_file(const std::string& path) {
    const OpenFile file(path);
    struct stat status {};
    if (file.fd() < 0 || fstat(file.fd(), &status) != 0) return unreadable(path);
    if (!S_ISREG(status.st_mode)) return Error{path, "not a regular file", "name a regular file"};
    std::string text;
    std::array<char, 65536> block;
    // To the end and not by size: files of /proc are 0 bytes long and those of /sys 4096.
    while (true) {
        const ssize_t count = read(file.fd(), block.data(), block.size());
        if (count < 0) return unreadable(path);
        if (count == 0) return text;
        text.append(block.data(), static_cast<std::size_t>(count));
        if (text.size() > largest) {
            return Error{path, "larger than 64 MiB", "name a file that holds a topology"};
        }
    }
}

std::optional<std::string> read_trimmed(const std::string& path) {
    auto text = read_regular_file(path);
    if (!text) return std::nullopt;
    text->erase(text->find_last_not_of(white_space) + 1);
    return *std::move(text);
}

std::string_view value_after(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.starts_with(key)) continue;
        line.remove_prefix(key.size());
        line.remove_prefix(std::min(line.find_first_not_of(white_space), line.size()));
        return line.substr(0, line.find_last_not_of(white_space) + 1);
    }
    return {};
}

}  // namespace distgpu
