// A folder for one test, with files that the test makes up: of /proc, of /sys, topologies.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

    std::string read(const std::string& file) const {
        std::ifstream stream(path(file));
        return {std::istreambuf_iterator(stream), {}};
    }

    // Its path.
    std::string write_program(const std::string& file, const std::string& text) const {
        write(file, text);
        std::filesystem::permissions(path(file), std::filesystem::perms::owner_all);
        return path(file);
    }

  private:
    std::string path_;
};

}  // namespace distgpu
