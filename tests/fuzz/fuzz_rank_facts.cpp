// What a node tells of a step's ranks, and the explanation that `distgpu explain` makes of it.
#include "explain/explanation.h"
#include "explain/explanation_output.h"
#include "require.h"
#include "target.h"

#include <numeric>
#include <string>

namespace distgpu {

void try_text(std::string_view text) {
    const auto facts = read_node_facts_now(text);
    if (!facts) return;
    const std::string line = to_json(*facts).line();
    require(line.find('\n') == std::string::npos, "an answer is one line");
    require(read_node_facts_now(line) == facts, "an answer is read back as it was written");
    const Explanation explanation = explain({*facts, *facts}, {"silent"});
    require(explanation.ranks.size() == 2 * facts->ranks.size(), "every rank is told of");
    const std::size_t grouped = std::accumulate(
        explanation.groups.begin(), explanation.groups.end(), std::size_t{0},
        [](std::size_t sum, const ExplainedGroup& group) { return sum + group.ranks.size(); });
    require(grouped == explanation.ranks.size(), "a rank is in one group");
    const std::string words = explanation_text("5.0", explanation, false);
    require(words.find('\x1b') == std::string::npos, "no terminal is steered");
    require(!explanation_json("5.0", explanation).empty(), "an explanation has JSON");
    for (const RankFacts& rank : facts->ranks) {
        const auto one = rank_text(explanation, rank.rank, false);
        require(one && one->find('\x1b') == std::string::npos, "each rank has its text");
    }
}

}  // namespace distgpu
