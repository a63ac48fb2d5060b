// A folder for the files of one test; removed with them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace distgpu {

class TemporaryFolder {
  public:
    TemporaryFolder() : path_(testing::TempDir() + "distgpu_XXXXXX") {
        EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    TemporaryFolder(TemporaryFolder&&) = delete;
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

    // Returns the file's path; the folders on the way are made.
    std::string write(std::string_view name, std::string_view text) const {
        const std::string file = path(name);
        std::filesystem::create_directories(std::filesystem::path(file).parent_path());
        std::ofstream stream(file);
        stream << text;
        stream.close();
        EXPECT_TRUE(stream) << file;
        return file;
    }

    std::string write_program(std::string_view name, std::string_view text) const {
        const std::string file = write(name, text);
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
        return file;
    }

    // Empty where there is no such file.
    std::string read(std::string_view name) const {
        std::ifstream stream(path(name));
        return {std::istreambuf_iterator<char>(stream), {}};
    }

  private:
    std::string path_;
};

}  // namespace distgpu
