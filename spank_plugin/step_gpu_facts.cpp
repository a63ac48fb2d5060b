#include "step_gpu_facts.h"

#include "base/values.h"
#include "node/collect.h"
#include "node/gpu_devices.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>

namespace distgpu {
namespace {

// Slurm releases all tasks of a node at once, and pyxis, which stands before, makes them wait for
// each other.
constexpr std::chrono::seconds siblings_time_limit{2};

bool is_part_of(std::string_view list, std::string_view whole) {
    const auto known = comma_items(whole);
    const auto items = comma_items(list);
    return std::all_of(items.begin(), items.end(), [&](std::string_view item) {
        return std::find(known.begin(), known.end(), item) != known.end();
    });
}

}  // namespace

void StepGpuFacts::before_tasks(const Environment& step, std::size_t tasks,
                                std::optional<Numbering> numbering) {
    numbering_ = numbering;
    shared_ = gpu_owner(step) == GpuOwner::jobs;
    variables_ = gpu_variables(step);
    visible_ = visible_gpus(step);
    task_gpus_.create(tasks);
}

void StepGpuFacts::add_to(NodeFacts& facts, const Environment& task_environment,
                          LocalRank task) const {
    if (shared_ || visible_gpus(task_environment).empty()) return;
    facts.gpu_names.variables = variables_;
    const bool bound = gpu_owner(task_environment) == GpuOwner::task;
    // What Slurm set in this task tells its own GPUs, or a container replaced it.
    const auto own =
        gpus_of_task(*facts.topology, bound ? visible_gpus(task_environment) : visible_);
    task_gpus_.tell(task, own ? own->indices : std::vector<std::uint32_t>{});
    if (own && own->indices.empty()) return;
    set_gpus(facts, own);
    if (!own) return;
    facts.gpus = static_cast<std::uint32_t>(own->indices.size());
    // Where a task has fewer than the step, its siblings may have the others.
    const bool has_all = own->indices.size() == comma_items(visible_).size();
    if (bound || !has_all) add_bound(facts, *own);
}

Result<StepGpus> StepGpuFacts::gpus_of_task(const NodeTopology& topology,
                                            const std::string& visible) const {
    const auto usable = usable_gpus(topology);
    const Numbering counting = numbering_.value_or(likely_numbering(topology, usable));
    // What the task can open is its own where Slurm hides the others.
    if (counting == Numbering::opened) return step_gpus(topology, usable, visible_, counting);
    if (is_part_of(visible, visible_)) return step_gpus(topology, usable, visible, counting);
    return Error{"GPUs",
                 "Slurm bound them to the tasks, and a variable of the container hides which", ""};
}

// Tasks that all have the same GPUs share them, as in a step without such a binding.
void StepGpuFacts::add_bound(NodeFacts& facts, const StepGpus& own) const {
    auto lists = task_gpus_.of_all(siblings_time_limit);
    if (!lists) {
        facts.gpu_names.unclear =
            "GPUs: Slurm bound them to the tasks, and not every task tells "
            "which it has";
        return;
    }
    if (std::all_of(lists->begin(), lists->end(),
                    [&](const auto& list) { return list == own.indices; })) {
        return;
    }
    std::set<std::uint32_t> all;
    for (const auto& list : *lists) all.insert(list.begin(), list.end());
    facts.share.gpus.assign(all.begin(), all.end());
    // A task's names for the others' GPUs are nobody's: all keep those that Slurm gave.
    facts.gpu_names.names.assign(all.size(), "");
    facts.share.bound = *std::move(lists);
}

}  // namespace distgpu
