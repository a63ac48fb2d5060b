#include "node/step_variables.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/texts/sent_step.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/task_environment.h"
#include "slurm/step_shape.h"

#include <algorithm>
#include <sys/random.h>

namespace distgpu {

std::optional<std::string> unanswered_spec(const Environment& environment) {
    auto spec = environment.get(spec_variable);
    if (!spec || spec->empty() || prepared_spec(environment)) return std::nullopt;
    return spec;
}

SentStep sent_step(const Environment& environment) {
    const auto number = [&](const char* name) { return environment.number(name).value_or(0); };
    const StepSize size{number("SLURM_STEP_NUM_NODES"), number("SLURM_STEP_NUM_TASKS")};
    const KnownStep known{number("SLURM_JOB_ID"), number("SLURM_STEP_ID"), size};
    auto sent = decode(environment.text(sent_variable), known);
    return sent && *sent ? **std::move(sent) : SentStep{};
}

void hand_on_layout(Environment& environment, const StepLayout& layout) {
    environment.unset(layout_variable);
    const auto derived = derive_layout(environment);
    if (derived && *derived == layout) return;
    const std::string text = step_mark(environment) + layout_line(layout);
    if (text.size() <= max_sent_length) environment.set(layout_variable, text);
}

std::optional<Result<StepLayout>> handed_layout(const Environment& environment) {
    const std::string mark = step_mark(environment);
    const std::string text = environment.text(layout_variable);
    if (!text.starts_with(mark)) return std::nullopt;
    auto layout = read_layout_line(std::string_view(text).substr(mark.size()));
    if (layout) return layout;
    return Error{layout_variable, layout.error().cause(), formatted("unset {}", layout_variable)};
}

std::optional<Secret> draw_secret() {
    Secret::Bytes bytes{};
    // So few are never given in part (getrandom(2)).
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return std::nullopt;
    }
    return Secret(bytes);
}

std::optional<Secret> handed_secret(const Environment& environment) {
    return Secret::parse(environment.text(secret_variable));
}

namespace {

// Slurm's own, the same in every task of a step: by them this task's programs know their step.
constexpr std::array<std::string_view, 6> of_the_step{
    "SLURM_JOB_ID",         "SLURM_STEP_ID",        "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"};

bool contains(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

// The GPUs of the step, which all its tasks see; none where Slurm binds GPUs to tasks later.
std::vector<std::string> gpu_names(const Environment& step) {
    if (gpu_owner(step) != GpuOwner::step) return {};
    std::vector<std::string> names = gpu_variables(step);
    names.emplace_back("SLURM_STEP_GPUS");
    return names;
}

}  // namespace

bool is_network_setting(std::string_view name) {
    return name.starts_with("NCCL_") || name.starts_with("GLOO_") || name.starts_with("UCX_");
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
        // The value that counts whatever a container has; nothing: the container's may stay.
        const bool may_be_inherited = is_network_setting(name) || contains(users_own(), name);
        const auto ours = name == given_variable ? std::nullopt
                          : may_be_inherited     ? exported(launch, name)
                                                 : launch.get(name);
        const auto other = ours ? ours : launch.get(name);
        if (!value || value == other) continue;
        if (is_network_setting(name)) settings.push_back({name, *value, !ours});
        if (ours) task.set(name, *ours);
    }
    std::ranges::sort(settings, {}, &ContainerSetting::name);
    return settings;
}

ContainerNotes container_notes(const std::vector<ContainerSetting>& settings,
                               const TaskPlan& task) {
    ContainerNotes notes;
    std::vector<std::string> marks;
    for (const ContainerSetting& setting : settings) {
        const std::string has =
            formatted("distgpu: {}: the container sets '{}'", setting.name, excerpt(setting.value));
        const auto planned = std::ranges::find_if(
            task.yielded, [&](const auto& item) { return item.first == setting.name; });
        if (!setting.used) {
            notes.lines.push_back(formatted("{}, you exported another value; yours is used", has));
            marks.push_back(setting.name + ":export");
        } else if (planned != task.yielded.end() && planned->second != setting.value) {
            notes.lines.push_back(
                formatted("{}, distgpu would set '{}'; the container's is used, export the "
                          "variable to choose",
                          has, excerpt(planned->second)));
            marks.push_back(setting.name + ":container");
        }
    }
    notes.mark = join(marks, " ");
    return notes;
}

}  // namespace distgpu
