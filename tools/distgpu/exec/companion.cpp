// See companion.h.
#include "exec/companion.h"

#include "base/format.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Of the output only the end is kept: it tells what went wrong.
constexpr std::size_t most_kept = 4096;

Error not_made(const std::string& path, int problem) {
    const bool shared = problem == EEXIST;
    return {path,
            shared ? "already there, as where the nodes share the folder around it"
                   : std::strerror(problem),
            "let RAY_TMPDIR name a folder that every node has for itself"};
}

}  // namespace

std::optional<NotStarted> Companion::start(const std::vector<std::string>& command,
                                           std::string_view up_text, unsigned long open_files) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return NotStarted{{command.front(), std::strerror(errno), ""}};
    }
    // The program's own end is an ordinary one.
    fcntl(ends[1], F_SETFL, 0);
    output_ = Socket(ends[0]);
    up_text_ = up_text;
    Started started = start_program(command, ends[1], open_files);
    close(ends[1]);
    if (!started.problem) pid_ = started.pid;
    return std::move(started.problem);
}

bool Companion::becomes_ready() {
    std::array<char, most_kept> piece{};
    const ssize_t got = read(output_.fd(), piece.data(), piece.size());
    if (got < 0) return false;
    if (got == 0) output_ = Socket();
    text_.append(piece.data(), static_cast<std::size_t>(got));
    const bool was_ready = is_ready_;
    is_ready_ = is_ready_ || text_.find(up_text_) != std::string::npos;
    text_.erase(0, text_.size() - std::min(text_.size(), most_kept));
    return is_ready_ && !was_ready;
}

StepFolder::~StepFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

Result<StepFolder> StepFolder::make() {
    // Below it Ray makes sockets whose names are 63 to 67 bytes long; the system takes 107.
    constexpr std::size_t longest = 40;
    const char* const around = std::getenv("RAY_TMPDIR");
    std::string path = formatted("{}/ray-XXXXXX", around == nullptr ? "/tmp" : around);
    if (path.size() > longest) {
        return Error{path, formatted("longer than {} bytes, too long for Ray's sockets", longest),
                     "let RAY_TMPDIR name a folder nearer to the root"};
    }
    if (mkdtemp(path.data()) == nullptr) return not_made(path, errno);
    return StepFolder(path);
}

Result<StepFolder> StepFolder::make_at(const std::string& path) {
    constexpr mode_t for_me_alone = 0700;
    if (mkdir(path.c_str(), for_me_alone) != 0) return not_made(path, errno);
    return StepFolder(path);
}

}  // namespace distgpu
