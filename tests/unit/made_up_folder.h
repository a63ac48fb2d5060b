// A folder for one test, with files that the test makes up: of /proc, of /sys, topologies.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace distgpu {

class MadeUpFolder {
  public:
    MadeUpFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "distgpu-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~MadeUpFolder() { std::filesystem::remove_all(path_); }
    MadeUpFolder(const MadeUpFolder&) = delete;
    MadeUpFolder& operator=(const MadeUpFolder&) = delete;
    MadeUpFolder(MadeUpFolder&&) = delete;
    MadeUpFolder& operator=(MadeUpFolder&&) = delete;

    const std::string& path() const { return path_; }
    std::string path(const std::string& file) const { return path_ + "/" + file; }

    // With the folders above it.
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
        std::ofstream(path(file)) << text;
    }

  private:
    std::string path_;
};

}  // namespace distgpu
