// A folder of the step's own on this node, which nobody else can enter, and which goes with this
// object. Those of earlier steps whose `distgpu exec` was killed go when the next one is made.
#pragma once

#include "base/io/unique_fd.h"
#include "base/result.h"

#include <cstddef>
#include <string>
#include <utility>

namespace distgpu {

// Where such a folder may be, and how it is called.
struct FolderRule {
    std::string variable;     // names the folder around it; where it is not set, that is /tmp
    std::string prefix;       // of its name: "ray-"
    std::size_t longest = 0;  // of its path, in bytes
};

class StepFolder {
  public:
    StepFolder() = default;
    ~StepFolder();
    StepFolder(StepFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    StepFolder& operator=(StepFolder&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(lock_, other.lock_);
        return *this;
    }
    StepFolder(const StepFolder&) = delete;
    StepFolder& operator=(const StepFolder&) = delete;

    // With a name that nobody can know before. Errors: the path is too long; it cannot be made.
    static Result<StepFolder> make(const FolderRule& rule);
    // With the name that rank 0's node chose. Errors: it is there already, as where both nodes see
    // the same one; it cannot be made.
    static Result<StepFolder> make_at(const FolderRule& rule, const std::string& path);

    const std::string& path() const { return path_; }

  private:
    StepFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;  // empty: none
    UniqueFd lock_;     // a file in it, held as long as the step runs
};

}  // namespace distgpu
