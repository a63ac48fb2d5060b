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

std::optional<std::string> spec_without_plugin(const Environment& environment) {
    auto spec = environment.get(spec_variable);
    if (!spec || spec->empty() || prepared_spec(environment)) return std::nullopt;
    return spec;
}

SentStep read_sent_step(const Environment& environment) {
    const auto number = [&](const char* name) { return environment.number(name).value_or(0); };
    const StepSize size{number("SLURM_STEP_NUM_NODES"), number("SLURM_STEP_NUM_TASKS")};
    const KnownStep known{number("SLURM_JOB_ID"), number("SLURM_STEP_ID"), size};
    auto sent = decode(environment.text(sent_step_variable), known);
    return sent && *sent ? **std::move(sent) : SentStep{};
}

void set_layout_variable(Environment& environment, const StepLayout& layout) {
    environment.unset(layout_variable);
    const auto derived = derive_layout(environment);
    if (derived && *derived == layout) return;
    const std::string text = step_prefix(environment) + layout_line(layout);
    if (text.size() <= max_sent_length) environment.set(layout_variable, text);
}

std::optional<Result<StepLayout>> read_layout_variable(const Environment& environment) {
    const std::string prefix = step_prefix(environment);
    const std::string text = environment.text(layout_variable);
    if (!text.starts_with(prefix)) return std::nullopt;
    auto layout = read_layout_line(std::string_view(text).substr(prefix.size()));
    if (layout) return layout;
    return Error{layout_variable, layout.error().cause(), formatted("unset {}", layout_variable)};
}

std::optional<Secret> draw_secret() {
    Secret::Bytes bytes{};
    // Up to 256 bytes are never returned in part (getrandom(2)).
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return std::nullopt;
    }
    return Secret(bytes);
}

std::optional<Secret> read_secret_variable(const Environment& environment) {
    return Secret::parse(environment.text(secret_variable));
}

namespace {

// Slurm's variables that are the same in every task of a step and identify it to programs.
constexpr std::array<std::string_view, 6> step_identity_variables{
    "SLURM_JOB_ID",         "SLURM_STEP_ID",        "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"};

bool contains(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

// The variables of the step's GPUs, if all its tasks see them; empty if Slurm binds GPUs to tasks
// later.
std::vector<std::string> step_gpu_variables(const Environment& step) {
    if (gpu_owner(step) != GpuOwner::step) return {};
    std::vector<std::string> names = gpu_variables(step);
    names.emplace_back("SLURM_STEP_GPUS");
    return names;
}

}  // namespace

bool is_network_setting(std::string_view name) {
    return name.starts_with("NCCL_") || name.starts_with("GLOO_") || name.starts_with("UCX_");
}

std::vector<ContainerSetting> restore_launch_variables(Environment& task,
                                                       const EnvironmentCopy& launch) {
    std::vector<ContainerSetting> settings;
    // Only the task sees the effect of srun's own --gpus-per-task and --gpu-bind.
    const bool has_own_gpus = gpu_owner(task) == GpuOwner::task;
    const std::vector<std::string> gpus = step_gpu_variables(launch);
    for (const std::string& name : task.names()) {
        const bool may_be_inherited = is_network_setting(name) || is_user_settable(name);
        const bool is_gpu = contains(gpus, name);
        if (is_gpu && has_own_gpus) continue;
        if (!may_be_inherited && !is_gpu && !contains(step_identity_variables, name)) continue;
        const auto value = task.get(name);
        // `preferred` takes precedence over a container's value; nullopt if the container's may
        // stay.
        const auto preferred = may_be_inherited ? exported(launch, name) : launch.get(name);
        const auto other = preferred ? preferred : launch.get(name);
        if (!value || value == other) continue;
        if (is_network_setting(name)) settings.push_back({name, *value, !preferred});
        if (preferred) task.set(name, *preferred);
    }
    std::ranges::sort(settings, {}, &ContainerSetting::name);
    return settings;
}

ContainerNotes container_notes(const std::vector<ContainerSetting>& settings,
                               const TaskPlan& task) {
    ContainerNotes notes;
    std::vector<std::string> decisions;
    for (const ContainerSetting& setting : settings) {
        const std::string has =
            formatted("distgpu: {}: the container sets '{}'", setting.name, excerpt(setting.value));
        const auto planned = std::ranges::find_if(
            task.overridden_by_user, [&](const auto& item) { return item.first == setting.name; });
        if (!setting.is_used) {
            notes.lines.push_back(formatted("{}, you exported another value; yours is used", has));
            decisions.push_back(setting.name + ":export");
        } else if (planned != task.overridden_by_user.end() && planned->second != setting.value) {
            notes.lines.push_back(
                formatted("{}, distgpu would set '{}'; the container's is used, export the "
                          "variable to choose",
                          has, excerpt(planned->second)));
            decisions.push_back(setting.name + ":container");
        }
    }
    notes.variable_value = join(decisions, " ");
    return notes;
}

}  // namespace distgpu
