#include "inspect/step_processes.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "slurm/slurm_queries.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// Whether the variables that Slurm gave it say so. Those of a component of a heterogeneous step do
// not say which one it is.
bool has_variables_of(const std::string& step, const Environment& environment) {
    return environment.text("SLURM_JOB_ID") + '.' + environment.text("SLURM_STEP_ID") == step;
}

std::vector<StepProcess> search_step_processes(const std::string& step) {
    const ProcessTree tree = read_process_tree();
    std::map<pid_t, std::optional<std::uint32_t>> tasks;
    for (const auto& [pid, stat] : tree.stats) {
        if (read_owner(pid) != geteuid()) continue;
        const EnvironmentCopy environment = read_environment(pid).value_or(EnvironmentCopy());
        const auto cgroups = read_regular_file(formatted("/proc/{}/cgroup", pid));
        if (has_variables_of(step, environment) || (cgroups && is_in_cgroup_of(step, *cgroups))) {
            tasks[pid] = environment.number("SLURM_PROCID");
        }
    }
    std::vector<StepProcess> processes;
    for (const auto& [pid, task] : tasks) {
        const bool is_first = !tasks.contains(tree.stats.at(pid).parent);  // of its task
        processes.push_back({pid, is_first ? task : std::nullopt});
    }
    return processes;
}

}  // namespace

std::vector<StepProcess> parse_listpids(const std::string& step, std::string_view text) {
    std::vector<StepProcess> processes;
    while (!text.empty()) {
        auto words = words_in(cut_until(text, '\n'));
        words.resize(5);
        constexpr std::size_t max_pid = std::size_t{1} << 22U;  // PID_MAX_LIMIT
        const auto number = number_below(words[0], max_pid + 1);
        // 0 stands for a process outside this process's pid namespace.
        if (number.value_or(0) == 0 || formatted("{}.{}", words[1], words[2]) != step) continue;
        processes.push_back({static_cast<pid_t>(*number), whole_number(words[4])});
    }
    return processes;
}

Result<std::vector<StepProcess>> list_step_processes(const std::string& node,
                                                     const std::string& step,
                                                     const Environment& environment) {
    constexpr std::chrono::seconds limit{5};
    // With the job, because listpids does not accept a step such as "5.batch".
    std::vector<std::string> command{"scontrol", "listpids", step.substr(0, step.find('.'))};
    // Without the node it would ask any slurmd of a host that has several.
    if (!node.empty()) command.push_back(node);
    return run_slurm_command(environment, command, limit).transform([&](const std::string& text) {
        return parse_listpids(step, text);
    });
}

bool is_in_cgroup_of(const std::string& step, std::string_view cgroups) {
    const std::size_t point = step.find('.');
    const std::string cgroup =
        formatted("/job_{}/step_{}/", step.substr(0, point), step.substr(point + 1));
    const std::size_t found = cgroups.find(cgroup);
    if (found == std::string_view::npos) return false;
    const std::string_view part = cgroups.substr(found + cgroup.size());
    return part.starts_with("user") || part.starts_with("task_");
}

std::vector<StepProcess> find_without_slurm(const std::string& step) {
    constexpr std::chrono::seconds limit{2};
    const auto search = [&] {
        std::string lines;
        for (const auto& [pid, rank] : search_step_processes(step)) {
            lines += formatted("{} {}\n", pid, rank ? formatted("{}", *rank) : "-");
        }
        return lines;
    };
    const auto lines = output_of_child(search, Clock::now() + limit);
    std::string_view text = lines ? std::string_view(*lines) : std::string_view();
    std::vector<StepProcess> processes;
    while (!text.empty()) {
        std::string_view line = cut_until(text, '\n');
        const auto pid = whole_number(cut_until(line, ' '));
        if (pid) processes.push_back({static_cast<pid_t>(*pid), whole_number(line)});
    }
    return processes;
}

std::optional<Error> other_owner_error(const std::string& step,
                                       const std::vector<StepProcess>& processes) {
    for (const StepProcess& process : processes) {
        const auto owner = process.rank ? read_owner(process.pid) : std::nullopt;
        if (!owner || *owner == geteuid()) continue;
        return Error{"step " + step,
                     formatted("its tasks on this node belong to user {}, and this is user {}",
                               *owner, geteuid()),
                     "run this as the user who started it"};
    }
    return std::nullopt;
}

Result<NodeSample> find_step_processes(const std::string& node, const std::string& step,
                                       const Environment& environment) {
    const auto listed = list_step_processes(node, step, environment);
    const std::string problem = listed ? "" : listed.error().message();
    const auto known = listed ? *listed : find_without_slurm(step);
    if (!listed && known.empty()) return NodeSample{.node = node, .problem = problem};
    if (auto error = other_owner_error(step, known)) return *std::move(error);
    return sample_processes(node, known, problem);
}

}  // namespace distgpu
