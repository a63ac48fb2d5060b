// See text_file.h.
#include "report/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace distgpu::scaling {
namespace {

struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

}  // namespace

// Not a stream, which throws where the path is a folder.
Result<std::string> read_text_file(const std::string& path, std::string remedy) {
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "r"));
    std::string text;
    std::array<char, 65536> part{};
    std::size_t count = part.size();
    while (file && count == part.size()) {
        count = std::fread(part.data(), 1, part.size(), file.get());
        text.append(part.data(), count);
    }
    if (file && std::ferror(file.get()) == 0) return text;
    return Error{path, std::strerror(errno), std::move(remedy)};
}

}  // namespace distgpu::scaling
