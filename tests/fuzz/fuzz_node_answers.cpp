// What srun prints of the nodes' answers and of its own.
#include "inspect/answers.h"
#include "require.h"
#include "target.h"

#include <string>

namespace distgpu {

void try_text(std::string_view text) {
    Answers whole;
    whole.take(text);
    Answers pieces;
    const std::size_t half = text.size() / 2;
    pieces.take(text.substr(0, half));
    pieces.take(text.substr(half));
    require(whole.others().size() <= 4200, "of other lines a little is kept");
    // Longer lines are dropped in pieces.
    require(text.size() > 4096 ||
                (whole.complete() == pieces.complete() && whole.others() == pieces.others()),
            "pieces of any size say the same");
    for (const auto& [node, answer] : whole.complete()) {
        require(answer.size() <= text.size(), "an answer is what was said");
    }
    // A text without the mark that answers begin with, and without a break, is anybody's.
    if (text.empty() || text.find_first_of("\x1e\n") != std::string_view::npos) return;
    Answers answers;
    answers.take("srun: said\n");
    answers.take(answer_lines("n1", text) + "srun: said\n" + answer_lines("n2", text));
    const auto complete = answers.complete();
    require(complete.size() == 2 && complete.at("n1") == text && complete.at("n2") == text,
            "an answer is put together as it was taken apart");
    require(answers.others() == "srun: said\nsrun: said\n", "other lines are others");
}

}  // namespace distgpu
