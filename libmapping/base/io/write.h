// Texts that are written as a whole, or not at all.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace distgpu {

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
