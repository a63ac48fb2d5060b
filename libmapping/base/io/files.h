// Reads whole files that others wrote, such as those of /proc and /sys or those that a user names,
// and replaces files atomically.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace distgpu {

// Reads the whole file, which may be a pipe, so only for processes that run as the user. Errors: it
// cannot be read; the problem is errno's text, the remedy is `remedy`.
Result<std::string> read_file(const std::string& path, std::string remedy);

// Reads the whole file. Errors (object: `path`): it cannot be read; it is not a regular file (a
// FIFO would block, a device may never end); it is larger than `max_size` bytes. A topology of 4096
// CPUs has half a megabyte; parsed JSON needs thirty times the size of its text.
Result<std::string> read_regular_file(const std::string& path,
                                      std::size_t max_size = std::size_t{4} << 20U);

// The same without white space at its end; nullopt if it cannot be read.
std::optional<std::string> read_trimmed(const std::string& path);

// The names in the folder, sorted; empty if it cannot be read.
std::vector<std::string> files_in(const std::string& folder);

// The text after `key` in the first line that begins with it, trimmed; empty if no line does.
std::string_view value_after(std::string_view text, std::string_view key);

using Done = std::monostate;

// Writes the whole text, in several pieces if necessary. On failure returns false and sets errno.
bool write_all(int fd, std::string_view text);

enum class Readers : std::uint8_t {
    by_umask,  // as the user's umask allows
    everyone,  // mode 0644, whatever the umask
    owner,     // mode 0600
};

// Replaces `path` atomically: readers see the old text or the new one. On failure the old file
// stays and no temporary file is left. Errors: its folder is missing or not writable; the disk is
// full; it is a folder or a device.
Result<Done> replace_file(const std::string& path, std::string_view text, Readers readers);

}  // namespace distgpu
