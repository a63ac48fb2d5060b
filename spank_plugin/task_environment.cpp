// See task_environment.h.
#include "task_environment.h"

#include "variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sched.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

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

// CPUs on which this process may run.
std::uint32_t count_mask_cpus() {
    // The kernel refuses a set that is smaller than its own.
    for (std::size_t cpus = 1024; cpus <= (std::size_t{1} << 20U); cpus *= 2) {
        std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
        const std::size_t bytes = set.size() * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, set.data()) == 0) {
            return static_cast<std::uint32_t>(CPU_COUNT_S(bytes, set.data()));
        }
    }
    return 0;
}

// Variables that stay as they are where the user exported them.
constexpr std::array users_own{"MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"};

// "NAME=VALUE" of those that distgpu gives this task.
std::string given_values(const TaskPlan& task) {
    std::string text;
    for (const auto& [name, value] : task.set) {
        if (std::find(users_own.begin(), users_own.end(), name) == users_own.end()) continue;
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    }
    return text;
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
    const std::string size = request.framework->launcher_per_node
                                 ? fmt::format("{} launchers", layout.task_count())
                                 : fmt::format("world size {}", layout.task_count());
    return fmt::format(
        "distgpu: {}: {} on {} ({}), rendezvous {} on {}, port from {}", request.framework->mode,
        size, layout.node_count() == 1 ? "1 node" : fmt::format("{} nodes", layout.node_count()),
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

std::optional<std::string> exported(spank_t spank, std::string_view name) {
    auto value = step_variable(spank, std::string(name).c_str());
    if (!value || value->empty()) return std::nullopt;
    const std::string given = step_variable(spank, given_variable).value_or("");
    std::string_view rest = given;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        if (entry == fmt::format("{}={}", name, *value)) return std::nullopt;
    }
    return value;
}

NodeFacts read_node_facts(spank_t spank) {
    NodeFacts facts;
    facts.gpus = count_devices(spank);
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    facts.mask_cpus = count_mask_cpus();
    facts.own_omp_threads = exported(spank, "OMP_NUM_THREADS").has_value();
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
    bool all_set = set(spank, given_variable, given_values(task));
    for (const auto& [name, value] : task.set) all_set = set(spank, name, value) && all_set;
    return all_set ? Outcome::ok : Outcome::refused;
}

}  // namespace distgpu
