// See whole_file.h.
#include "run/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace distgpu::scaling {
namespace {

struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

bool write_file(const std::string& path, std::string_view text) {
    std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "w"));
    if (!file) return false;
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    return std::fclose(file.release()) == 0 && written;
}

}  // namespace

std::optional<Error> replace_file(const std::string& path, std::string_view text) {
    const std::string fresh = path + ".new";
    if (write_file(fresh, text) && std::rename(fresh.c_str(), path.c_str()) == 0) {
        return std::nullopt;
    }
    Error error{path, std::strerror(errno),
                "name a file that this user may write on rank 0's node"};
    static_cast<void>(std::remove(fresh.c_str()));
    return error;
}

}  // namespace distgpu::scaling
