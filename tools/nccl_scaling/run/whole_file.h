// Files that are never half written.
#pragma once

#include <distgpu/result.h>

#include <optional>
#include <string>
#include <string_view>

namespace distgpu::scaling {

// Replaces the file by one with this text; a reader sees the old one or the new one.
std::optional<Error> replace_file(const std::string& path, std::string_view text);

}  // namespace distgpu::scaling
