// A folder of its own for a test that writes files; removed with what is in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace distgpu::scaling {

class ScratchFolder {
  public:
    explicit ScratchFolder(const std::string& name = "") {
        const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = std::filesystem::path(testing::TempDir()) /
                  (std::string("scaling_") + test->test_suite_name() + test->name() + name);
        std::filesystem::create_directory(folder_);
    }
    ~ScratchFolder() { remove(); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ScratchFolder(ScratchFolder&&) = delete;
    ScratchFolder& operator=(ScratchFolder&&) = delete;

    void remove() const { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return folder_ / name; }

    // Returns its path.
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }

    std::string read(const std::string& name) const {
        std::ifstream file(path(name));
        return {std::istreambuf_iterator(file), {}};
    }

  private:
    std::filesystem::path folder_;
};

}  // namespace distgpu::scaling
