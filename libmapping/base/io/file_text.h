// The text of files that others write: those of /proc and /sys, and those that a user names.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// The whole file, which may be a pipe: for a process of the user's own. Errors: it cannot be read,
// for the system's reason; `remedy` is the error's.
Result<std::string> read_file(const std::string& path, std::string remedy);

// The whole file. Errors: it cannot be read; it is not a regular file (a FIFO would block, a device
// need not end); larger than `most` bytes. Object: `path`.
// A topology of 4096 CPUs has half a megabyte; JSON takes thirty times its size when it is read.
Result<std::string> read_regular_file(const std::string& path,
                                      std::size_t most = std::size_t{4} << 20U);

// The same without white space at its end; nothing: it cannot be read.
std::optional<std::string> read_trimmed(const std::string& path);

// What stands after `key` in the first line that begins with it, without white space around it;
// empty: no line does.
std::string_view value_after(std::string_view text, std::string_view key);

}  // namespace distgpu
