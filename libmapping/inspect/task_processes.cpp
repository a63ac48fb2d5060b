#include "inspect/task_processes.h"

#include "base/values.h"
#include "inspect/ranks.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace distgpu {
namespace {

using Tasks = std::map<pid_t, std::optional<std::uint32_t>>;  // the task of each process

// Adds the descendants of the known processes, which belong to the same tasks.
Tasks find_tasks(const std::vector<StepProcess>& known, const ProcessTree& tree) {
    Tasks tasks;
    for (const StepProcess& process : known) tasks[process.pid] = process.rank;
    bool has_changed = true;
    while (has_changed && tasks.size() < max_processes) {
        has_changed = false;
        for (const auto& [parent, pid] : tree.children) {
            const auto parent_task = tasks.find(parent);
            if (parent_task == tasks.end()) continue;
            const auto [task, is_new] = tasks.try_emplace(pid, parent_task->second);
            const bool is_updated = !is_new && !task->second && parent_task->second;
            if (is_updated) task->second = parent_task->second;
            has_changed = has_changed || is_new || is_updated;
        }
    }
    return tasks;
}

bool is_python(pid_t pid, const std::string& program) {
    if (file_name(program).starts_with("python")) return true;
    // Programs that embed or link Python.
    return read_maps(pid).find("/libpython3") != std::string::npos;
}

// For children whose environment cannot be read, or has lost the variables.
void inherit_ranks(NodeSample& sample) {
    for (ProcessSample& process : sample.processes) {
        const ProcessSample* const parent = find_process(sample, process.parent);
        if (process.rank || parent == nullptr) continue;
        process.rank = parent->rank;
        process.world_size = parent->world_size;
    }
}

bool is_helper(std::string_view name) {
    return name == signal_witness_name || name == task_parent_name;
}

// Of the children of a task's parent the lowest is the task's program.
auto age_key(const ProcessTree& tree, pid_t pid) {
    const ProcessStat& stat = tree.stats.at(pid);
    return std::tuple(stat.name == signal_witness_name, stat.begin, pid);
}

// The first process of each task; a task's parent leaves that to its oldest child.
std::vector<pid_t> first_processes(const std::vector<StepProcess>& known, const ProcessTree& tree) {
    std::vector<pid_t> first;
    for (const StepProcess& process : known) {
        if (!process.rank) continue;
        const auto stat = tree.stats.find(process.pid);
        const bool is_parent = stat != tree.stats.end() && stat->second.name == task_parent_name;
        const auto [begin, end] = tree.children.equal_range(process.pid);
        const auto oldest = std::min_element(begin, end, [&](const auto& a, const auto& b) {
            return age_key(tree, a.second) < age_key(tree, b.second);
        });
        first.push_back(is_parent && oldest != end ? oldest->second : process.pid);
    }
    return first;
}

std::vector<ProcessSample> find_processes(const std::vector<StepProcess>& known,
                                          const ProcessTree& tree) {
    const std::vector<pid_t> first = first_processes(known, tree);
    std::vector<ProcessSample> processes;
    for (const auto& [pid, task] : find_tasks(known, tree)) {
        const auto stat = read_stat(pid);
        if (!stat || is_helper(stat->name)) continue;
        const EnvironmentCopy environment = read_environment(pid).value_or(EnvironmentCopy());
        const std::string program = read_program(pid);
        processes.push_back(
            {.pid = pid,
             .parent = stat->parent,
             .begin = stat->begin,
             .name = stat->name,
             .command = read_command(pid),
             // One that is not dumpable hides even the path of its program.
             .is_python = is_python(pid, program.empty() ? stat->name : program),
             .is_task = std::ranges::find(first, pid) != first.end(),
             // Slurm gives it to all; setproctitle overwrites the block of variables.
             .is_hidden = !environment.get("SLURM_JOB_ID"),
             .task = task,
             .rank = environment.number("RANK"),
             .world_size = environment.number("WORLD_SIZE")});
        if (processes.size() == max_processes) break;
    }
    return processes;
}

}  // namespace

NodeSample sample_processes(const std::string& node, const std::vector<StepProcess>& known,
                            const std::string& problem, const ProcessTree& tree) {
    NodeSample sample{.node = node, .processes = find_processes(known, tree), .problem = problem};
    inherit_ranks(sample);
    return sample;
}

void read_states(NodeSample& sample) {
    sample.times = {0};
    for (ProcessSample& process : sample.processes) {
        const auto stat = read_stat(process.pid);
        process.moments = {{.state = stat ? stat->state : 'X'}};
        if (stat) process.exit_code = stat->exit_code;
    }
}

}  // namespace distgpu
