#include "inspect/step_processes.h"

#include "base/format.h"
#include "base/io/files.h"
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

using Tasks = std::map<pid_t, std::optional<std::uint32_t>>;  // the task of each process

// Adds the descendants of the known processes, which belong to the same tasks.
Tasks find_tasks(const std::vector<StepProcess>& known) {
    Tasks tasks;
    for (const StepProcess& process : known) tasks[process.pid] = process.rank;
    const auto parents = read_parents();
    bool has_changed = true;
    while (has_changed && tasks.size() < max_processes) {
        has_changed = false;
        for (const auto& [pid, parent] : parents) {
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
    // Programs that embed or link Python. A process may have 65,530 mappings.
    constexpr std::size_t max_size = std::size_t{64} << 20U;
    const auto maps = read_regular_file(formatted("/proc/{}/maps", pid), max_size);
    return maps && maps->find("/libpython3") != std::string::npos;
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

std::vector<ProcessSample> find_processes(const std::vector<StepProcess>& known) {
    std::vector<ProcessSample> processes;
    for (const auto& [pid, task] : find_tasks(known)) {
        const auto stat = read_stat(pid);
        if (!stat || stat->name == signal_witness_name) continue;
        const EnvironmentCopy environment = read_environment(pid).value_or(EnvironmentCopy());
        processes.push_back(
            {.pid = pid,
             .parent = stat->parent,
             .begin = stat->begin,
             .name = stat->name,
             .command = read_command(pid),
             .is_python = is_python(pid, read_program(pid)),
             .is_task = std::ranges::any_of(
                 known,
                 [&, pid = pid](const StepProcess& each) { return each.pid == pid && each.rank; }),
             .task = task,
             .rank = environment.number("RANK"),
             .world_size = environment.number("WORLD_SIZE")});
        if (processes.size() == max_processes) break;
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
    const auto known = list_step_processes(node, step, environment);
    if (!known) return NodeSample{.node = node, .problem = known.error().message()};
    if (auto error = other_owner_error(step, *known)) return *std::move(error);
    NodeSample sample{.node = node, .processes = find_processes(*known)};
    inherit_ranks(sample);
    return sample;
}

}  // namespace distgpu
