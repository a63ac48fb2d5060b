// Texts that lead to a layout or an order of nodes: host lists, counts of tasks, what srun sends,
// what Slurm's commands print.
#include "base/environment.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/node_order.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/texts/sent_step.h"
#include "mapping/texts/variables.h"
#include "node/step_variables.h"
#include "slurm/slurm_queries.h"
#include "targets.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

// Slurm's compressed host lists: read, written and read again.
void try_hostlist(std::string_view text) {
    const auto list = HostList::parse(text);
    if (!list) return require_line(list.error().message());
    require(!list->empty(), "a list that is read names a host");
    require(list->size() <= HostList::max_hosts, "no more hosts than the bound");
    const auto again = HostList::parse(list->to_string());
    require(again && *again == *list, "to_string() is read back to an equal list");
    for (const std::uint64_t at : {std::uint64_t{0}, list->size() / 2, list->size() - 1}) {
        const NodeIndex index{static_cast<std::uint32_t>(at)};
        const auto name = list->name(index);
        require(!name.empty() && name.size() <= HostList::max_name_length, "names are bounded");
        const auto found = list->find(name);
        require(found && *found <= index, "a name of the list is found");
        require(list->name(*found) == name, "what is found has the name");
    }
}

namespace {

void require_inverse(const StepLayout& layout) {
    for (TaskId task{0}; task.value < layout.task_count(); ++task.value) {
        const Placement place = layout.place(task);
        require(layout.task(place.node, place.local_rank) == task, "task() undoes place()");
    }
}

}  // namespace

// Counts of tasks per node, and the layouts that are made of them.
void try_tasks_per_node(std::string_view text) {
    const auto runs = parse_tasks_per_node(text);
    if (!runs) return require_line(runs.error().message());
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    for (const TasksRun& run : *runs) {
        require(run.tasks > 0 && run.nodes > 0, "no zero count");
        nodes += run.nodes;
        tasks += std::uint64_t{run.tasks} * run.nodes;
    }
    require(nodes <= StepLayout::max_nodes, "no more nodes than the bound");
    require(tasks <= max_step_size.tasks, "no more tasks than the bound");
    using Kind = Distribution::Kind;
    for (const Distribution distribution :
         {Distribution{Kind::block, 0}, Distribution{Kind::cyclic, 0},
          Distribution{Kind::plane, 3}}) {
        auto hosts = HostList::parse("n[1-" + std::to_string(nodes) + "]");
        const auto layout = StepLayout::distribute(*std::move(hosts), *runs, distribution);
        // Cyclic over uneven counts takes a block a round.
        require(layout || distribution.kind != Kind::block || tasks > StepLayout::max_tasks,
                "counts for every host make a layout");
        if (!layout) continue;
        require(layout->task_count() == tasks, "every task is placed");
        if (!is_small(*layout)) continue;
        require_inverse(*layout);
        require_complete_plans({*layout}, {});
    }
}

// SLURM_DISTGPU_LAYOUT, which a task may have changed: read, handed on, and read again.
void try_handed_layout(std::string_view text) {
    EnvironmentCopy environment({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"}});
    // Most inputs are spent behind the step, the rest on it.
    const bool whole = !text.empty() && text.front() == '1';
    environment.set(layout_variable, (whole ? "" : "17.0 ") + std::string(text));
    const auto layout = read_layout_variable(environment);
    if (!layout) return;
    if (!*layout) return require_line(layout->error().message());
    set_layout_variable(environment, **layout);
    const auto again = read_layout_variable(environment);
    require(!again || *again, "what is handed on is read back");
    require(!again || **again == **layout, "to the same layout");
    require(again || text.size() > 100'000, "it is handed on unless it is long");
    if (is_small(**layout)) require_complete_plans({**layout}, {});
}

namespace {

// Four nodes, of which this is the first, with two tasks each, dealt in blocks.
constexpr StepSize step_size{4, 8};
constexpr KnownStep known{17, 0, step_size};
const LocalTasks local_tasks{NodeIndex{0}, {TaskId{0}, TaskId{1}}};

}  // namespace

// SLURM_DISTGPU_STEP, which a user can forge, in a step of which SPANK tells the size and the tasks
// of this node.
void try_sent_step(std::string_view text) {
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
    require(layout.tasks_on(NodeIndex{layout.node_count() - 1}) > 0, "every node has a task");
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

// What sattach --layout prints, to the layout that `distgpu exec` and `plan` take from it.
void try_sattach(std::string_view text) {
    const auto layout = parse_sattach(text);
    if (!layout) return require_line(layout.error().message());
    require(layout->task_count() <= text.size(), "every task stands in the text");
    require(layout->node_count() <= text.size(), "every node has a line");
    const auto again = parse_sattach(answer_of(*layout));
    require(again && *again == *layout, "sattach's text of the layout is read back to it");
    if (is_small(*layout)) require_complete_plans({*layout}, {});
}

namespace {

void require_an_order(const std::vector<SwitchPath>& paths) {
    std::vector<bool> named(paths.size());
    for (const NodeIndex node : order_by_switch(paths)) {
        require(!named.at(node.value), "a node is named once");
        named[node.value] = true;
    }
    require(std::find(named.begin(), named.end(), false) == named.end(), "and each is");
}

}  // namespace

// What `scontrol show topology` prints, to the order of a step's nodes.
void try_switches(std::string_view text) {
    const std::vector<std::string> names{"n1", "n02", "n3"};
    require_an_order(switches_above(HostList::from_names(names), read_switches(text)));
}

}  // namespace distgpu
