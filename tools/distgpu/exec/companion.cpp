#include "exec/companion.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Of the output only the end is kept: it tells what went wrong.
constexpr std::size_t most_kept = 4096;

}  // namespace

std::optional<NotStarted> Companion::start(const std::vector<std::string>& command,
                                           std::string_view up_text, unsigned long open_files) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return NotStarted{{command.front(), std::strerror(errno), ""}};
    }
    // The program's own end is an ordinary one.
    fcntl(ends[1], F_SETFL, 0);
    output_ = UniqueFd(ends[0]);
    up_text_ = up_text;
    // It then ends what it started itself, where Slurm would not (proctrack/linuxproc).
    Started started = start_program(
        command, {.output = ends[1], .open_files = open_files, .death_signal = SIGTERM});
    close(ends[1]);
    if (!started.problem) pid_ = started.pid;
    return std::move(started.problem);
}

bool Companion::read_piece() {
    std::array<char, most_kept> piece{};
    const ssize_t got = read(output_.fd(), piece.data(), piece.size());
    if (got < 0) return false;
    if (got == 0) output_ = UniqueFd();
    text_.append(piece.data(), static_cast<std::size_t>(got));
    is_ready_ = is_ready_ || text_.find(up_text_) != std::string::npos;
    text_.erase(0, text_.size() - std::min(text_.size(), most_kept));
    return got > 0;
}

bool Companion::becomes_ready() {
    const bool was_ready = is_ready_;
    read_piece();
    return is_ready_ && !was_ready;
}

const std::string& Companion::last_output() {
    // Others may still have its end of the pipe, and print without end: only what is there by now.
    int left = 0;
    if (ioctl(output_.fd(), FIONREAD, &left) != 0) left = 0;
    for (; left > 0 && read_piece(); left -= static_cast<int>(most_kept)) {
    }
    return text_;
}

}  // namespace distgpu
