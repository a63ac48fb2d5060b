// See output.h.
#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace distgpu {

Result<Done> print(std::string_view text) {
    if (write_all(STDOUT_FILENO, text)) return Done{};
    return Error{"standard output", std::strerror(errno), ""};
}

ExitCode complain(const Error& error, ExitCode code) {
    static_cast<void>(std::fprintf(stderr, "%s\n", error.message().c_str()));
    return code;
}

}  // namespace distgpu
