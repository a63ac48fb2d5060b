#include "inspect/step_processes.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"
#include "inspect/process_facts.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

using Tasks = std::map<pid_t, std::optional<std::uint32_t>>;  // of which task a process is

Tasks tasks_of(const std::vector<StepProcess>& known) {
    Tasks tasks;
    for (const StepProcess& process : known) tasks[process.pid] = process.rank;
    std::map<pid_t, pid_t> parents;
    for (const pid_t pid : list_processes()) {
        if (const auto stat = read_stat(pid)) parents[pid] = stat->parent;
    }
    bool grows = true;
    while (grows && tasks.size() < most_processes) {
        grows = false;
        for (const auto& [pid, parent] : parents) {
            const auto above = tasks.find(parent);
            if (above == tasks.end()) continue;
            const auto [place, is_new] = tasks.try_emplace(pid, above->second);
            const bool learns = !is_new && !place->second && above->second;
            if (learns) place->second = above->second;
            grows = grows || is_new || learns;
        }
    }
    return tasks;
}

bool is_python(pid_t pid, const std::string& program) {
    const std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
    if (name.starts_with("python")) return true;
    // Embedded, or linked to it.
    // A process may have 65,530 mappings.
    constexpr std::size_t most = std::size_t{64} << 20U;
    const auto maps = read_regular_file(formatted("/proc/{}/maps", pid), most);
    return maps && maps->find("/libpython3") != std::string::npos;
}

std::optional<std::uint32_t> number(const StartEnvironment& environment, std::string_view name) {
    return whole_number(environment.get(name).value_or(""));
}

// A child may hide its environment, or have lost it.
void inherit_ranks(std::vector<ProcessLook>& processes) {
    std::map<pid_t, const ProcessLook*> by_pid;
    for (const ProcessLook& process : processes) by_pid[process.pid] = &process;
    for (ProcessLook& process : processes) {
        const auto parent = by_pid.find(process.parent);
        if (process.rank || parent == by_pid.end()) continue;
        process.rank = parent->second->rank;
        process.world_size = parent->second->world_size;
    }
}

}  // namespace

std::vector<ProcessLook> find_processes(const std::vector<StepProcess>& known) {
    std::vector<ProcessLook> processes;
    for (const auto& [pid, task] : tasks_of(known)) {
        const auto stat = read_stat(pid);
        if (!stat || stat->name == signal_witness_name) continue;
        ProcessLook process;
        process.pid = pid;
        process.parent = stat->parent;
        process.begin = stat->begin;
        process.name = stat->name;
        process.command = read_command(pid);
        process.task = task;
        process.is_python = is_python(pid, read_program(pid));
        const StartEnvironment environment(pid);
        process.rank = number(environment, "RANK");
        process.world_size = number(environment, "WORLD_SIZE");
        processes.push_back(std::move(process));
        if (processes.size() == most_processes) break;
    }
    inherit_ranks(processes);
    return processes;
}

}  // namespace distgpu
