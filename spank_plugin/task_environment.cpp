// See task_environment.h.
#include "task_environment.h"

#include "variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <unistd.h>

namespace distgpu {
namespace {

std::uint32_t count_devices(spank_t spank) {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
        const auto list = step_variable(spank, name);
        if (!list || list->empty()) continue;
        return static_cast<std::uint32_t>(std::count(list->begin(), list->end(), ',') + 1);
    }
    return 0;
}

void unset(spank_t spank, std::string_view pattern) {
    if (pattern.back() != '*') {
        spank_unsetenv(spank, std::string(pattern).c_str());
        return;
    }
    pattern.remove_suffix(1);
    std::vector<std::string> names;
    for (const std::string_view variable : step_variables(spank)) {
        if (variable.substr(0, pattern.size()) == pattern) {
            names.emplace_back(variable.substr(0, variable.find('=')));
        }
    }
    for (const std::string& name : names) spank_unsetenv(spank, name.c_str());
}

// spank_setenv() returns success although it dropped a value that is too long:
// read it back.
bool set(spank_t spank, const std::string& name, const std::string& value) {
    constexpr int overwrite = 1;
    if (spank_setenv(spank, name.c_str(), value.c_str(), overwrite) == ESPANK_SUCCESS &&
        step_variable(spank, name.c_str()) == value) {
        return true;
    }
    slurm_error("distgpu: variable %s: Slurm did not take it (%zu bytes); report this",
                name.c_str(), value.size());
    return false;
}

std::string step_line(const Request& request, const StepLayout& layout, const NodePlan& plan) {
    return fmt::format(
        "distgpu: {}: world size {} on {} ({}), rendezvous {} on {}, port from {}",
        request.framework->mode, layout.task_count(),
        layout.node_count() == 1 ? "1 node" : fmt::format("{} nodes", layout.node_count()),
        layout.hosts().to_string(), host_and_port(plan.rendezvous.address, plan.rendezvous.port),
        layout.hosts().name(rank0_node(layout)), describe(plan.rendezvous.port_source));
}

std::string task_line(const NodePlan& plan, const TaskPlan& task) {
    return fmt::format("distgpu: rank {} on {}, local rank {} of {}, node rank {}", task.rank.value,
                       plan.node_name, task.local_id.value, plan.tasks.size(),
                       task.node_rank.value);
}

// One write, so that the tasks' texts do not mix.
[[noreturn]] void print_and_end(const NodePlan& plan, const TaskPlan& task) {
    std::string text = task_line(plan, task) + '\n';
    for (const auto& [name, value] : task.set) text += fmt::format("  {}={}\n", name, value);
    for (const std::string& name : task.unset) text += fmt::format("  unset {}\n", name);
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
        if (written <= 0) _exit(1);
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    _exit(0);
}

}  // namespace

NodeFacts read_node_facts(spank_t spank) {
    NodeFacts facts;
    facts.gpus = count_devices(spank);
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    if (const auto text = step_variable(spank, "SLURM_CPUS_ON_NODE")) {
        std::from_chars(text->data(), text->data() + text->size(), facts.cpus);
    }
    return facts;
}

void remove_request(spank_t spank) {
    for (const char* name : {spec_variable, carried_variable, inherited_variable}) {
        spank_unsetenv(spank, name);
    }
}

void announce_task(const Request& request, const StepLayout& layout, const NodePlan& plan,
                   LocalId local) {
    const TaskPlan& task = plan.tasks[local.value];
    const bool first = task.task == TaskId{0};
    if (first && (request.verbose || request.dry_run)) {
        slurm_spank_log("%s", step_line(request, layout, plan).c_str());
    }
    if (first) {
        for (const std::string& line : plan.warnings) slurm_spank_log("%s", line.c_str());
    }
    if (request.dry_run) print_and_end(plan, task);
    if (request.verbose) slurm_spank_log("%s", task_line(plan, task).c_str());
}

Outcome set_task_environment(spank_t spank, const NodePlan& plan, LocalId local) {
    const TaskPlan& task = plan.tasks[local.value];
    remove_request(spank);
    for (const std::string& pattern : task.unset) unset(spank, pattern);
    bool all_set = set(spank, master_variable,
                       fmt::format("{} {}", plan.rendezvous.address, plan.rendezvous.port));
    for (const auto& [name, value] : task.set) all_set = set(spank, name, value) && all_set;
    return all_set ? Outcome::ok : Outcome::refused;
}

}  // namespace distgpu
