// How every subcommand ends.
#pragma once

namespace distgpu {

enum class ExitCode {
    done = 0,
    usage = 2,
    environment = 3,  // it is not what is needed, or failed
    // Of exec, beside the program's own, as env(1) has them.
    exec_failed = 125,
    not_executable = 126,
    not_found = 127,
};

}  // namespace distgpu
