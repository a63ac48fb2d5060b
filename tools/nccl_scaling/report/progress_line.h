// What the run does now, as a line that the next one overwrites; on a terminal only.
#pragma once

#include <cstdio>
#include <string_view>

namespace distgpu::scaling {

class ProgressLine {
  public:
    // Writes to `stream`, which must outlive it; where that is no terminal, nothing is written.
    explicit ProgressLine(std::FILE* stream);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ProgressLine(ProgressLine&&) = delete;
    ProgressLine& operator=(ProgressLine&&) = delete;

    // One line; cut at the terminal's width, since a wrapped line could not be cleared.
    void show(std::string_view text);

    // Removes the line; before anything else is printed on this terminal.
    void clear();

  private:
    std::FILE* stream_;
    bool is_terminal_;
    bool is_shown_ = false;
};

}  // namespace distgpu::scaling
