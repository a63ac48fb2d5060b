// A file that a test compares with what the program makes today.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace distgpu::golden {

// The whole file; empty where there is none.
inline std::string read_file(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// Compares `text` with the file as a GoogleTest expectation. With DISTGPU_UPDATE_GOLDEN=1 in the
// environment writes it instead: read the difference in git before committing it.
inline void expect_file(const std::filesystem::path& file, const std::string& text) {
    const char* const update = std::getenv("DISTGPU_UPDATE_GOLDEN");
    if (update != nullptr && std::string_view(update) == "1") {
        std::ofstream out(file);
        out << text;
        EXPECT_TRUE(out.flush()) << file << " can't be written";
        return;
    }
    EXPECT_EQ(text, read_file(file)) << file << " differs; if the new text is right, rewrite it "
                                     << "with DISTGPU_UPDATE_GOLDEN=1";
}

}  // namespace distgpu::golden
