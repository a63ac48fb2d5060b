// A file that a test compares with what the program makes today.
#pragma once

#include <filesystem>
#include <string>

namespace distgpu::golden {

// The whole file; empty where there is none.
std::string read_file(const std::filesystem::path& file);

// Compares `text` with the file as a GoogleTest expectation. With
// DISTGPU_UPDATE_GOLDEN=1 in the environment writes it instead: read the
// difference in git before committing it.
void expect_file(const std::filesystem::path& file, const std::string& text);

}  // namespace distgpu::golden
