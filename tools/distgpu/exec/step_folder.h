// A folder of the step's own on this node, which nobody else can enter, and which goes with this
// object. Those of earlier steps whose `distgpu exec` was killed go when the next one is made.
#pragma once

#include "base/io/tcp/socket.h"
#include "base/result.h"

#include <string>
#include <utility>

namespace distgpu {

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

    // With a name that nobody can know before, in $RAY_TMPDIR or /tmp. Errors: the path is longer
    // than Ray's sockets allow; it cannot be made.
    static Result<StepFolder> make();
    // With the name that rank 0's node chose. Errors: it is there already, as where both nodes see
    // the same one; it cannot be made.
    static Result<StepFolder> make_at(const std::string& path);

    const std::string& path() const { return path_; }

  private:
    StepFolder(std::string path, Socket lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;  // empty: none
    Socket lock_;       // a file in it, held as long as the step runs
};

}  // namespace distgpu
