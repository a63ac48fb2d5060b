// SLURM_DISTGPU_STEP, which a user can forge, in a step of which SPANK tells the size and the tasks
// of this node.
#include "mapping/rendezvous/host_port.h"
#include "mapping/texts/layout_check.h"
#include "mapping/texts/sent_step.h"
#include "plan_promises.h"
#include "require.h"
#include "target.h"

#include <string>

namespace distgpu {
namespace {

// Four nodes, of which this is the first, with two tasks each, dealt in blocks.
constexpr StepSize step_size{4, 8};
constexpr KnownStep known{17, 0, step_size};
const LocalTasks local_tasks{NodeIndex{0}, {TaskId{0}, TaskId{1}}};

void require_inverse(const StepLayout& layout) {
    const NodeIndex last{layout.node_count() - 1};
    require(layout.tasks_on(last) > 0, "every node has a task");
    const TaskId end{layout.task_count() - 1};
    const Placement place = layout.place(end);
    require(layout.task(place.node, place.local_rank) == end, "task() undoes place()");
}

}  // namespace

void try_text(std::string_view text) {
    // Most inputs are spent behind the step, the rest on it.
    const bool whole = !text.empty() && text.front() == 'v';
    const auto decoded = decode(whole ? std::string(text) : "v2 17.0 " + std::string(text), known);
    if (!decoded) return require_line(decoded.error().message());
    if (!*decoded) return;
    const SentStep& step = **decoded;
    const auto again = decode(encode(step), known);
    require(again && *again, "encode() is read back");
    require((*again)->job == step.job && (*again)->step == step.step, "to the same step");
    require(!(*again)->layout || (*again)->layout == step.layout, "and the same layout");
    require(step.rank0_address.empty() || is_host(step.rank0_address), "an address is a host");
    if (!step.layout) return;
    const StepLayout& layout = *step.layout;
    require_inverse(layout);
    require(layout.node_count() <= step_size.nodes, "no more nodes than the step's");
    // As the plugin judges it.
    if (const auto refusal = check_size(layout, step_size)) {
        return require_line(refusal->message());
    }
    if (const auto refusal = check_layout(layout, local_tasks)) {
        return require_line(refusal->message());
    }
    require(layout.task_ids(local_tasks.node) == local_tasks.tasks, "Slurm's tasks are accepted");
    Step planned{layout};
    planned.facts.node_addresses = step.node_addresses;
    planned.rendezvous.rank0_address = step.rank0_address;
    NodeFacts facts;
    facts.node = local_tasks.node;
    require_complete_plans(planned, facts);
}

}  // namespace distgpu
