// What sattach --layout prints, to the layout that `distgpu exec` and `plan` take from it.
#include "plan_promises.h"
#include "require.h"
#include "slurm/step_query.h"
#include "target.h"

#include <cstdint>
#include <string>

namespace distgpu {
namespace {

// As sattach prints it.
std::string answer_of(const StepLayout& layout) {
    std::string text = "Job step layout:\n\t" + std::to_string(layout.task_count()) + " tasks, " +
                       std::to_string(layout.node_count()) + " nodes (" +
                       layout.hosts().to_string() + ")\n\n";
    for (NodeIndex node{0}; node.value < layout.node_count(); ++node.value) {
        const auto tasks = layout.task_ids(node);
        text += "\tNode " + std::to_string(node.value) + " (" + layout.hosts().name(node) + "), " +
                std::to_string(tasks.size()) + " task(s): ";
        for (const TaskId task : tasks) text += std::to_string(task.value) + ' ';
        text += '\n';
    }
    return text;
}

}  // namespace

void try_text(std::string_view text) {
    const auto layout = parse_sattach(text);
    if (!layout) return require_line(layout.error().message());
    require(layout->task_count() <= text.size(), "every task stands in the text");
    require(layout->node_count() <= text.size(), "every node has a line");
    const auto again = parse_sattach(answer_of(*layout));
    require(again && *again == *layout, "sattach's text of the layout is read back to it");
    if (is_small(*layout)) require_complete_plans({*layout}, {});
}

}  // namespace distgpu
