// Files that Slurm's processes use, of root and of every user: whether they can, and whether
// somebody else than root could put another in their place.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu {

enum class FileUse : std::uint8_t { read, execute };

// What is wrong with the file or one of its folders (object: `path`, which begins with a slash).
std::optional<Error> file_fault(const std::string& path, FileUse use);

// The same of the folder in which it would lie.
std::optional<Error> folder_fault(const std::string& path);

}  // namespace distgpu
