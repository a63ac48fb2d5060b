// Where a subcommand's result goes.
#pragma once

#include <distgpu/result.h>

#include <string>
#include <variant>

namespace distgpu {

// Errors: standard output takes no more (a full disk, a closed pipe).
Result<std::monostate> print(const std::string& text);

// Replaces `path` as a whole: who reads it meanwhile sees the old text or the new one. Mode 0644.
// Errors: its folder is missing or not writable.
Result<std::monostate> replace_file(const std::string& path, const std::string& text);

}  // namespace distgpu
