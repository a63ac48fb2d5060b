// How every subcommand ends.
#pragma once

namespace distgpu {

enum class ExitCode {
    done = 0,
    usage = 2,
    environment = 3,  // it is not what is needed, or failed
};

}  // namespace distgpu
