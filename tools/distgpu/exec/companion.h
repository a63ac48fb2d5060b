// A program beside the user's, such as `ray start --block`: it says on its standard output when it
// is ready. Nobody sees that output unless it fails.
#pragma once

#include "base/io/process_tree.h"
#include "base/io/unique_fd.h"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
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
    // The last lines of its output. Once it has ended, what it said just before is among them.
    const std::string& last_output();

  private:
    // False: there was nothing to read.
    bool read_piece();

    pid_t pid_ = -1;
    UniqueFd output_;  // a pipe's end
    std::string up_text_;
    std::string text_;
    bool is_ready_ = false;
};

}  // namespace distgpu
