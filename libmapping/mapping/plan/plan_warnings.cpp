#include "mapping/plan/plan_warnings.h"

#include "base/format.h"
#include "mapping/binding/binding_policy.h"
#include "mapping/binding/visible_gpus.h"
#include "mapping/frameworks/launchers.h"
#include "mapping/layout/step_layout.h"
#include "mapping/plan/processes.h"
#include "mapping/request/request.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace distgpu {
namespace {

// What goes wrong with a launcher's processes on a node.
std::optional<std::string> launcher_warning(const Request& request, const NodeFacts& node) {
    const std::uint32_t processes = processes_on(request, node);
    if (node.gpus == 0 || processes <= node.gpus) return std::nullopt;
    return formatted("nproc={} on a node with {} in this step; use nproc={}, or ask for more GPUs",
                     processes, counted(node.gpus, "GPU"), node.gpus);
}

// So many tasks on each node, whatever the step's line or its job has.
std::string tasks_option(const StepView& step, std::uint32_t tasks) {
    std::string each = formatted("--ntasks-per-node={}", tasks);
    if (step.facts.tasks_from == TasksFrom::nodes) return each;
    return formatted("--ntasks={} {}", std::uint64_t{tasks} * step.layout.node_count(), each);
}

// --gpus=6 of two nodes may be four and two. Nothing: each node has as many as this one, as far as
// is known.
std::optional<std::string> uneven_remedy(const NodeFacts& node, std::uint64_t nodes) {
    if (node.gpus_of_step == 0 || node.gpus_of_step == node.gpus * nodes) return std::nullopt;
    return formatted(
        "use --gpus-per-node={0} --ntasks-per-node={0}, because --gpus={1} gives the nodes "
        "different numbers",
        std::max<std::uint64_t>(1, node.gpus_of_step / nodes), node.gpus_of_step);
}

// What goes wrong with a task for each GPU.
std::optional<std::string> gpu_warning(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const std::uint32_t tasks = step.layout.tasks_on(node.node);
    const std::uint32_t gpus = node.gpus;
    if (gpus == 0 || tasks == gpus) return std::nullopt;
    const auto uneven = uneven_remedy(node, step.layout.node_count());
    if (tasks > gpus) {
        const std::string more_gpus =
            formatted("use --gpus-per-node={0} or --gres=gpu:{0}{1}, or {2}", tasks,
                      node.gpus_bound ? " instead of --gpus-per-task and --gpu-bind" : "",
                      tasks_option(step, gpus));
        return formatted(
            "{} on a node, but each sees {}, so some tasks have no device LOCAL_RANK; {}",
            counted(tasks, "task"), counted(gpus, "GPU"), uneven.value_or(more_gpus));
    }
    std::string remedy = uneven.value_or("use " + tasks_option(step, gpus));
    for (const Variant& variant : framework.variants) {
        if (tasks == 1 && !uneven && variant.framework->launcher_per_node) {
            remedy += formatted(", or a launcher with --distgpu={}", variant.framework->mode);
        }
    }
    return formatted("{} on a node with {} GPUs, of which {} idle; {}", counted(tasks, "task"),
                     gpus, gpus - tasks == 1 ? "one is" : formatted("{} are", gpus - tasks),
                     remedy);
}

// What goes wrong where nobody asked for GPUs.
std::optional<Error> no_gpus(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const bool left_alone = binding_policy(step.request, node).gpus->seen_by == nullptr;
    if (!node.gpus_by_slurm || node.gpus > 0 || framework.for_cpus_too || left_alone ||
        node.topology == nullptr || node.topology->gpus.empty()) {
        return std::nullopt;
    }
    const std::size_t gpus = node.topology->gpus.size();
    const bool other_tasks = framework.one_gpu_per_task && step.layout.tasks_on(node.node) != gpus;
    return Error{
        option_of(step.request),
        formatted("the step has no GPU, but {} has {}", step.layout.hosts().name(node.node),
                  gpus == 1 ? "one" : std::to_string(gpus)),
        formatted("use --gres=gpu:{}{}, or gpus=keep if none is meant", gpus,
                  other_tasks ? formatted(" with --ntasks-per-node={}", gpus) : "")};
}

std::optional<std::string> idle_nodes_warning(const StepView& step) {
    const std::uint32_t nodes = step.layout.node_count();
    const std::uint32_t allocated = step.facts.allocated_nodes;
    if (allocated <= nodes) return std::nullopt;
    return formatted(
        "the step runs on {} of the {} nodes of the allocation; use -N{}, or -N{} if "
        "that is meant",
        nodes, allocated, allocated, nodes);
}

std::optional<std::string> alone_warning(const StepView& step) {
    const bool alone = step.layout.task_count() == 1 && !step.request.framework->launcher_per_node;
    if (!step.facts.size_by_default || !alone) return std::nullopt;
    return "the step has one task, which trains alone, as rank 0 of 1; use -N NODES, "
           "--ntasks-per-node=GPUS and --gres=gpu:GPUS, or -n1 if one task is meant";
}

}  // namespace

std::vector<Error> step_warnings(const StepView& step) {
    const Framework& framework = *step.request.framework;
    std::vector<Error> warnings;
    if (auto misfit = program_misfit(step); misfit && !misfit->impossible) {
        warnings.push_back(std::move(misfit->error));
    }
    if (framework.warn != nullptr) {
        if (auto warning = framework.warn(step)) warnings.push_back(*std::move(warning));
    }
    for (const auto& text : {idle_nodes_warning(step), alone_warning(step)}) {
        if (text) warnings.push_back({option_of(step.request), *text, ""});
    }
    return warnings;
}

std::optional<Error> server_without_gpus(const StepView& step, const NodeFacts& node) {
    return step.request.framework->service == nullptr ? std::nullopt : no_gpus(step, node);
}

std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const std::uint32_t local_tasks = step.layout.tasks_on(node.node);
    std::vector<Error> warnings;
    const auto add = [&](const std::optional<std::string>& text) {
        if (text) warnings.push_back({option_of(step.request), *text, ""});
    };
    if (step.facts.is_helper) return warnings;
    for (const std::string& text : gpu_name_warnings(step.request, node)) add(text);
    if (auto warning = no_gpus(step, node)) warnings.push_back(*std::move(warning));
    if (framework.launcher_per_node) add(launcher_warning(step.request, node));
    if (!framework.one_gpu_per_task) return warnings;
    add(gpu_warning(step, node));
    if (node.gpus > 0 && node.cpus_per_task == 1 && cpus_of_each(node, local_tasks) <= 1) {
        add("each task has only one CPU, too few for data loaders; use srun --cpus-per-task=N "
            "(srun does not inherit it from sbatch)");
    }
    return warnings;
}

}  // namespace distgpu
