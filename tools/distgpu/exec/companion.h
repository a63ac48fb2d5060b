// A program beside the user's, such as `ray start --block`: it says on its standard output when it
// is ready. Nobody sees that output unless it fails.
#pragma once

#include "base/io/tcp/socket.h"
#include "exec/process_tree.h"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace distgpu {

class Companion {
  public:
    Companion() = default;

    // `up_text`: what it prints when it is ready. Errors: as start_program().
    std::optional<NotStarted> start(const std::vector<std::string>& command,
                                    std::string_view up_text, unsigned long open_files);

    pid_t pid() const { return pid_; }
    bool is_running() const { return pid_ > 0; }
    void set_ended() { pid_ = -1; }

    // To wait for its output; negative: there is none.
    int output() const { return output_.fd(); }
    // True once: it is ready.
    bool becomes_ready();
    // The last lines of its output.
    const std::string& last_output() const { return text_; }

  private:
    pid_t pid_ = -1;
    Socket output_;  // a pipe's end
    std::string up_text_;
    std::string text_;
    bool is_ready_ = false;
};

// A folder of the step's own on this node, which nobody else can enter, and which goes with this
// object.
class StepFolder {
  public:
    StepFolder() = default;
    ~StepFolder();
    StepFolder(StepFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    StepFolder& operator=(StepFolder&& other) noexcept {
        std::swap(path_, other.path_);
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
    explicit StepFolder(std::string path) : path_(std::move(path)) {}

    std::string path_;  // empty: none
};

}  // namespace distgpu
