#include "convert/step_options.h"

#include "base/format.h"
#include "base/values.h"
#include "convert/names.h"

#include <optional>

namespace distgpu {
namespace {

using Number = std::optional<std::uint32_t>;

// The job's tasks on each node, 1 where nothing says more; nothing: only Slurm knows.
Number tasks_on_node(const StepOptions& job) {
    const LayoutText& layout = job.shape.layout;
    if (!layout.tasks_per_node.empty()) return whole_number(layout.tasks_per_node);
    if (layout.ntasks.empty() || layout.ntasks == layout.nodes) return 1;
    const Number tasks = whole_number(layout.ntasks);
    const std::uint32_t nodes = whole_number(layout.nodes).value_or(1);
    if (!tasks || nodes == 0 || *tasks % nodes != 0) return std::nullopt;
    return *tasks / nodes;
}

std::string cpus_of_job(const StepOptions& job) {
    return job.shape.cpus_per_task.empty() ? "" : "--cpus-per-task=$SLURM_CPUS_PER_TASK ";
}

// The CPUs of the job's tasks on a node, for so many instead.
std::string cpus_for(std::uint64_t tasks, const StepOptions& job) {
    const std::uint64_t each = whole_number(job.shape.cpus_per_task).value_or(0);
    const std::uint64_t all = each * tasks_on_node(job).value_or(0);
    return tasks == 0 || all < tasks ? "" : formatted("--cpus-per-task={} ", all / tasks);
}

bool is_number_of_tasks(const std::string& count, const StepOptions& job) {
    const std::string_view name = name_alone(count);
    if (name == "SLURM_NTASKS" || name == "SLURM_NPROCS") return true;
    const LayoutText& layout = job.shape.layout;
    if (!layout.ntasks.empty()) return count == layout.ntasks;
    const Number nodes = whole_number(layout.nodes);
    const Number each = whole_number(layout.tasks_per_node);
    return nodes && each && count == std::to_string(std::uint64_t{*nodes} * *each);
}

std::string each_node(std::uint32_t tasks) {
    return formatted("--ntasks=$((SLURM_NNODES * {})) --ntasks-per-node={} ", tasks, tasks);
}

}  // namespace

std::string gpus_of(const StepOptions& job) {
    const std::string& text = job.shape.gpus_per_node;
    return text.substr(text.rfind(':') + 1);
}

std::string launchers_options(const StepOptions& job) {
    const LayoutText& layout = job.shape.layout;
    const bool one_each = (layout.ntasks.empty() || layout.ntasks == layout.nodes) &&
                          (layout.tasks_per_node.empty() || layout.tasks_per_node == "1");
    if (one_each) return cpus_of_job(job);
    return "--ntasks=$SLURM_NNODES --ntasks-per-node=1 " + cpus_for(1, job);
}

std::string ranks_options(std::uint32_t gpus, const StepOptions& job) {
    if (tasks_on_node(job) == gpus) return cpus_of_job(job);
    return each_node(gpus) + cpus_for(gpus, job);
}

std::string tasks_options(const std::string& count, const std::string& each,
                          const StepOptions& job) {
    const bool all_tasks = count.empty() || is_number_of_tasks(count, job);
    const Number on_node = whole_number(each);
    if (all_tasks && (!on_node || on_node == tasks_on_node(job))) return cpus_of_job(job);
    if (all_tasks) return each_node(*on_node) + cpus_for(*on_node, job);
    if (on_node) {
        return formatted("--ntasks={} --ntasks-per-node={} ", count, *on_node) +
               cpus_for(*on_node, job);
    }
    const std::uint64_t nodes = whole_number(job.shape.layout.nodes).value_or(1);
    const std::uint64_t tasks = whole_number(count).value_or(0);
    const std::uint64_t most = nodes == 0 ? 0 : (tasks + nodes - 1) / nodes;
    return formatted("--ntasks={} ", count) + cpus_for(most, job);
}

}  // namespace distgpu
