#include "output.h"

#include "base/format.h"
#include "node/machine.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace distgpu {

Result<Done> print(std::string_view text) {
    if (write_all(STDOUT_FILENO, text)) return Done{};
    return Error{"standard output", std::strerror(errno), ""};
}

bool has_colour_output() {
    const ProcessEnvironment environment;
    return isatty(STDOUT_FILENO) == 1 && environment.text("NO_COLOR").empty() &&
           environment.get("TERM") != "dumb";
}

std::string styled(bool colour, std::string_view style, std::string_view text) {
    return colour ? formatted("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
}

void print_error_line(std::string_view line) {
    static_cast<void>(std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()));
}

ExitCode report_error(const Error& error, ExitCode code) {
    print_error_line(error.message());
    return code;
}

ExitCode print_result(std::string_view text, ExitCode code) {
    const auto printed = print(text);
    return printed ? code : report_error(printed.error(), ExitCode::environment);
}

}  // namespace distgpu
