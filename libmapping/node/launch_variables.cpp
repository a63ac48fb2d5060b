#include "node/launch_variables.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/texts/variables.h"
#include "node/gpu_ownership.h"
#include "node/task_environment.h"

#include <algorithm>
#include <array>
#include <optional>

namespace distgpu {
namespace {

// Slurm's own, the same in every task of a step: by them this task's programs know their step.
constexpr std::array<std::string_view, 6> of_the_step{
    "SLURM_JOB_ID",         "SLURM_STEP_ID",        "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"};

bool contains(const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// The GPUs of the step, which all its tasks see; none where Slurm binds GPUs to tasks later.
std::vector<std::string> gpu_names(const Environment& step) {
    if (gpu_owner(step) != GpuOwner::step) return {};
    std::vector<std::string> names = gpu_variables(step);
    names.emplace_back("SLURM_STEP_GPUS");
    return names;
}

// The value that counts whatever a container has; nothing: the container's may stay.
std::optional<std::string> binding_value(const EnvironmentCopy& launch, const std::string& name) {
    if (name == given_variable) return std::nullopt;
    const bool may_be_inherited = is_network_setting(name) || contains(users_own(), name);
    return may_be_inherited ? exported(launch, name) : launch.get(name);
}

// What distgpu would have set; nothing: it would not, or this is what is used.
std::optional<std::string> overruled(const ContainerSetting& setting, const TaskPlan& task) {
    const auto planned = std::find_if(task.yielded.begin(), task.yielded.end(),
                                      [&](const auto& item) { return item.first == setting.name; });
    if (planned == task.yielded.end() || planned->second == setting.value) return std::nullopt;
    return planned->second;
}

}  // namespace

bool is_network_setting(std::string_view name) {
    constexpr std::array<std::string_view, 3> prefixes{"NCCL_", "GLOO_", "UCX_"};
    return std::any_of(prefixes.begin(), prefixes.end(), [name](std::string_view prefix) {
        return name.substr(0, prefix.size()) == prefix;
    });
}

EnvironmentCopy read_launch_variables(const Environment& step) {
    const std::vector<std::string> gpus = gpu_names(step);
    EnvironmentCopy launch;
    for (const std::string& name : step.names()) {
        if (name != given_variable && !is_network_setting(name) && !contains(users_own(), name) &&
            !contains(of_the_step, name) && !contains(gpus, name)) {
            continue;
        }
        if (const auto value = step.get(name)) launch.set(name, *value);
    }
    return launch;
}

std::vector<ContainerSetting> put_back(Environment& task, const EnvironmentCopy& launch) {
    std::vector<ContainerSetting> settings;
    // What srun's own --gpus-per-task and --gpu-bind do is known in the task alone.
    const bool own_gpus = gpu_owner(task) == GpuOwner::task;
    const std::vector<std::string> gpus = own_gpus ? gpu_names(launch) : std::vector<std::string>{};
    for (const std::string& name : task.names()) {
        if (contains(gpus, name)) continue;
        const auto value = task.get(name);
        const auto ours = binding_value(launch, name);
        const auto other = ours ? ours : launch.get(name);
        if (!value || value == other) continue;
        if (is_network_setting(name)) settings.push_back({name, *value, !ours});
        if (ours) task.set(name, *ours);
    }
    std::sort(settings.begin(), settings.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return settings;
}

std::vector<std::string> container_lines(const std::vector<ContainerSetting>& settings,
                                         const TaskPlan& task) {
    std::vector<std::string> lines;
    for (const ContainerSetting& setting : settings) {
        const std::string has =
            formatted("distgpu: {}: the container sets '{}'", setting.name, excerpt(setting.value));
        if (!setting.used) {
            lines.push_back(formatted("{}, you exported another value; yours is used", has));
        } else if (const auto planned = overruled(setting, task)) {
            lines.push_back(
                formatted("{}, distgpu would set '{}'; the container's is used, export the "
                          "variable to choose",
                          has, excerpt(*planned)));
        }
    }
    return lines;
}

std::string container_mark(const std::vector<ContainerSetting>& settings, const TaskPlan& task) {
    std::vector<std::string> marks;
    for (const ContainerSetting& setting : settings) {
        if (!setting.used) {
            marks.push_back(setting.name + ":export");
        } else if (overruled(setting, task)) {
            marks.push_back(setting.name + ":container");
        }
    }
    return join(marks, " ");
}

}  // namespace distgpu
