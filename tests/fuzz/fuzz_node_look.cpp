// What a node tells of a step's processes, and the diagnosis that `distgpu why` makes of it.
#include "require.h"
#include "target.h"
#include "why/diagnosis.h"
#include "why/diagnosis_output.h"
#include "why/diagnosis_page.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace distgpu {

void try_text(std::string_view text) {
    const auto look = read_node_look(text);
    if (!look) return;
    const std::string line = to_json(*look).line();
    require(line.find('\n') == std::string::npos, "a look is one line");
    require(read_node_look(line) == look, "a look is read back as it was written");
    const Diagnosis diagnosis = diagnose({*look, *look}, {"silent"}, 4);
    const std::size_t grouped = std::accumulate(
        diagnosis.groups.begin(), diagnosis.groups.end(), std::size_t{0},
        [](std::size_t sum, const RankGroup& group) { return sum + group.ranks.size(); });
    require(grouped % 2 == 0 && grouped <= 2 * look->processes.size(),
            "a rank is in one group, and the same on nodes that tell the same");
    require(diagnosis.findings.empty() || grouped > 0, "what is found is of ranks that were seen");
    require(!diagnosis_text("5.0", diagnosis, false).empty(), "a diagnosis has words");
    const std::string page = diagnosis_page("5.0", diagnosis);
    require(std::all_of(page.begin(), page.end(),
                        [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }) &&
                page.find("<script") == std::string::npos,
            "what a page says is text");
    require(!diagnosis_json("5.0", diagnosis).empty(), "a diagnosis has JSON");
}

}  // namespace distgpu
