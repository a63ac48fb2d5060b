#include "report/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

// One less than the width: a character in the last column moves some terminals on.
std::size_t usable_columns(int terminal) {
    constexpr std::size_t usual = 80;
    winsize size{};
    const bool known = ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return (known ? size.ws_col : usual) - 1;
}

void write(std::FILE* stream, std::string_view text) {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stream));
}

// Back to the first column, then erase to the end of the line (ECMA-48, EL).
constexpr std::string_view erase_line = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::FILE* stream)
    : stream_(stream), is_terminal_(isatty(fileno(stream)) == 1) {}

ProgressLine::~ProgressLine() {
    clear();
}

void ProgressLine::show(std::string_view text) {
    if (!is_terminal_) return;
    write(stream_, erase_line);
    write(stream_, text.substr(0, usable_columns(fileno(stream_))));
    static_cast<void>(std::fflush(stream_));
    is_shown_ = true;
}

void ProgressLine::clear() {
    if (!is_shown_) return;
    write(stream_, erase_line);
    static_cast<void>(std::fflush(stream_));
    is_shown_ = false;
}

}  // namespace distgpu::scaling
