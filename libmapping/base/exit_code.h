// How every command ends.
#pragma once

namespace distgpu {

enum class ExitCode {
    done = 0,
    check_failed = 1,
    usage = 2,
    environment = 3,  // it is not what is needed, or failed
    timed_out = 4,
    wrong_data = 5,
    skipped = 77,  // nothing was there to be checked
    // Of `distgpu exec`, beside the program's own, as env(1) has them.
    exec_failed = 125,
    not_executable = 126,
    not_found = 127,
};

}  // namespace distgpu
