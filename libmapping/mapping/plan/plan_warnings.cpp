// See plan_warnings.h.
#include "mapping/plan/plan_warnings.h"

#include "base/format.h"
#include "mapping/binding/visible_gpus.h"
#include "mapping/layout/step_layout.h"
#include "mapping/plan/processes.h"
#include "mapping/spec/request.h"

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

// What goes wrong with a task for each GPU.
std::optional<std::string> gpu_warning(const Framework& framework, std::uint32_t tasks,
                                       std::uint32_t gpus) {
    if (gpus == 0 || tasks == gpus) return std::nullopt;
    if (tasks > gpus) {
        return formatted(
            "{} on a node, but each sees {}, so some tasks have no device LOCAL_RANK; "
            "use --gpus-per-node={} or --gres=gpu:{} instead of --gpus-per-task "
            "and --gpu-bind, or --ntasks-per-node={}",
            counted(tasks, "task"), counted(gpus, "GPU"), tasks, tasks, gpus);
    }
    std::string remedy = formatted("use --ntasks-per-node={}", gpus);
    for (const Variant& variant : framework.variants) {
        if (tasks == 1 && variant.framework->launcher_per_node) {
            remedy += formatted(", or a launcher with --distgpu={}", variant.framework->mode);
        }
    }
    return formatted("{} on a node with {} GPUs, of which {} idle; {}", counted(tasks, "task"),
                     gpus, gpus - tasks == 1 ? "one is" : formatted("{} are", gpus - tasks),
                     remedy);
}

}  // namespace

std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const std::uint32_t local_tasks = step.layout.tasks_on(node.node);
    std::vector<Error> warnings;
    const auto add = [&](const std::optional<std::string>& text) {
        if (text) warnings.push_back({formatted("--distgpu={}", framework.mode), *text, ""});
    };
    for (const std::string& text : gpu_name_warnings(step.request, node)) add(text);
    if (framework.launcher_per_node) add(launcher_warning(step.request, node));
    if (!framework.one_gpu_per_task) return warnings;
    add(gpu_warning(framework, local_tasks, node.gpus));
    if (node.gpus > 0 && node.cpus_per_task == 1) {
        add("each task has only one CPU, too few for data loaders; use srun --cpus-per-task=N "
            "(srun does not inherit it from sbatch)");
    }
    return warnings;
}

}  // namespace distgpu
