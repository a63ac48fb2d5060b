// See output.h.
#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = write(fd, text.data(), text.size());
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

bool fill(int fd, const std::string& text) {
    constexpr mode_t readable_by_all = 0644;
    const bool filled = fchmod(fd, readable_by_all) == 0 && write_all(fd, text);
    return close(fd) == 0 && filled;
}

}  // namespace

Result<Done> print(std::string_view text) {
    if (write_all(STDOUT_FILENO, text)) return Done{};
    return Error{"standard output", std::strerror(errno), ""};
}

ExitCode complain(const Error& error, ExitCode code) {
    static_cast<void>(std::fprintf(stderr, "%s\n", error.message().c_str()));
    return code;
}

Result<Done> replace_file(const std::string& path, const std::string& text) {
    std::string draft = path + ".XXXXXX";
    const int fd = mkstemp(draft.data());
    if (fd >= 0 && fill(fd, text) && std::rename(draft.c_str(), path.c_str()) == 0) return Done{};
    const Error error{path, std::strerror(errno), "name a file in a folder that can be written"};
    if (fd >= 0) unlink(draft.c_str());
    return error;
}

}  // namespace distgpu
