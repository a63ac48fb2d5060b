// What a command says on each node of a step, through srun's one output: in pieces, because srun
// keeps lines whole only up to about a thousand bytes, and mixes those of all nodes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace distgpu {

// The lines that hold `text`, as of `node`.
std::string answer_lines(std::string_view node, std::string_view text);

// Puts them together again.
class Answers {
  public:
    // What srun's output holds, piece by piece.
    void take(std::string_view output);

    // Those that are complete, by node.
    std::map<std::string, std::string> complete() const;

    // All other lines: what srun said itself. Up to 4 KiB.
    const std::string& others() const { return others_; }

  private:
    struct Answer {
        std::size_t parts = 0;
        std::map<std::size_t, std::string> texts;
    };

    void take_line(std::string_view line);
    bool take_part(std::string_view line);

    std::string rest_;  // of a line
    std::map<std::string, Answer> answers_;
    std::size_t kept_ = 0;  // bytes
    std::string others_;
};

}  // namespace distgpu
