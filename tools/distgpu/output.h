// Where a subcommand's result goes.
#pragma once

#include "exit_code.h"

#include <distgpu/result.h>

#include <functional>
#include <string>
#include <string_view>
#include <variant>

namespace distgpu {

using Done = std::monostate;

// Takes a long text piece by piece.
using Writer = std::function<Result<Done>(std::string_view)>;

// Errors: standard output takes no more (a full disk, a closed pipe).
Result<Done> print(std::string_view text);

// Says on standard error what went wrong; returns `code`.
ExitCode complain(const Error& error, ExitCode code);

// Replaces `path` as a whole: who reads it meanwhile sees the old text or the new one. Mode 0644.
// Errors: its folder is missing or not writable.
Result<Done> replace_file(const std::string& path, const std::string& text);

}  // namespace distgpu
