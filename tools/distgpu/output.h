// Where a subcommand's result goes.
#pragma once

#include "exit_code.h"
#include "files/write.h"

#include <distgpu/result.h>

#include <functional>
#include <string_view>

namespace distgpu {

// Takes a long text piece by piece.
using Writer = std::function<Result<Done>(std::string_view)>;

// Errors: standard output takes no more (a full disk, a closed pipe).
Result<Done> print(std::string_view text);

// Says on standard error what went wrong; returns `code`.
ExitCode complain(const Error& error, ExitCode code);

}  // namespace distgpu
