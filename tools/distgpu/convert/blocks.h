// Where a script's commands are within if, for, a function, ( ... ) and the like.
#pragma once

#include "slurm/shell_words.h"

#include <cstddef>
#include <string_view>

namespace distgpu {

class Blocks {
  public:
    explicit Blocks(std::string_view script) : script_(script) {}

    // To be called for each command, in order.
    void pass(const ShellCommand& command);

    // Whether the command that was passed last opens or closes a block or is within one.
    bool inside() const { return inside_; }

  private:
    void pass_brackets(const ShellCommand& command);

    std::string_view script_;
    std::size_t open_ = 0;       // if, for, {
    std::size_t subshells_ = 0;  // (
    bool inside_ = false;
};

}  // namespace distgpu
