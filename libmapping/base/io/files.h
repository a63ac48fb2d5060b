// Files as whole texts: reading those that others write, such as those of /proc and /sys and those
// that a user names, and replacing a file as a whole.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

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

// What the folder holds, sorted; none where it cannot be read.
std::vector<std::string> files_in(const std::string& folder);

// What stands after `key` in the first line that begins with it, without white space around it;
// empty: no line does.
std::string_view value_after(std::string_view text, std::string_view key);

using Done = std::monostate;

// All of the text, in as many pieces as it takes. False: errno says why not.
bool write_all(int fd, std::string_view text);

enum class Readers : std::uint8_t {
    by_umask,  // whom the user's umask lets read a new file
    everyone,  // whatever the umask: mode 0644
};

// Replaces `path` as a whole: who reads it meanwhile sees the old text or the new one. Where it
// fails, the old file stays and nothing else is left.
// Errors: its folder is missing or not writable; the disk is full; it is a folder or a device.
Result<Done> replace_file(const std::string& path, std::string_view text, Readers readers);

}  // namespace distgpu
