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

using Tasks = std::map<pid_t, std::optional<std::uint32_t>>;  // of which task a process is

Tasks tasks_of(const std::vector<StepProcess>& known) {
    Tasks tasks;
    for (const StepProcess& process : known) tasks[process.pid] = process.rank;
    const auto parents = read_parents();
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
    if (file_name(program).starts_with("python")) return true;
    // Embedded, or linked to it. A process may have 65,530 mappings.
    constexpr std::size_t most = std::size_t{64} << 20U;
    const auto maps = read_regular_file(formatted("/proc/{}/maps", pid), most);
    return maps && maps->find("/libpython3") != std::string::npos;
}

// A child may hide its environment, or have lost it.
void inherit_ranks(NodeLook& look) {
    for (ProcessLook& process : look.processes) {
        const ProcessLook* const parent = find_process(look, process.parent);
        if (process.rank || parent == nullptr) continue;
        process.rank = parent->rank;
        process.world_size = parent->world_size;
    }
}

std::vector<ProcessLook> find_processes(const std::vector<StepProcess>& known) {
    std::vector<ProcessLook> processes;
    for (const auto& [pid, task] : tasks_of(known)) {
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
        if (processes.size() == most_processes) break;
    }
    return processes;
}

}  // namespace

std::vector<StepProcess> parse_listpids(const std::string& step, std::string_view text) {
    std::vector<StepProcess> processes;
    while (!text.empty()) {
        auto words = words_in(take_until(text, '\n'));
        words.resize(5);
        constexpr std::size_t most_pids = std::size_t{1} << 22U;  // PID_MAX_LIMIT
        const auto number = number_below(words[0], most_pids + 1);
        // 0 is one that this process's namespace does not have.
        if (number.value_or(0) == 0 || formatted("{}.{}", words[1], words[2]) != step) continue;
        processes.push_back({static_cast<pid_t>(*number), whole_number(words[4])});
    }
    return processes;
}

Result<std::vector<StepProcess>> list_step_processes(const std::string& node,
                                                     const std::string& step,
                                                     const Environment& environment) {
    constexpr std::chrono::seconds limit{5};
    // Of a step it takes numbers alone, not "5.batch".
    std::vector<std::string> command{"scontrol", "listpids", step.substr(0, step.find('.'))};
    // Where a host has several slurmd, it would ask one of them.
    if (!node.empty()) command.push_back(node);
    return run_slurm_command(environment, command, limit).transform([&](const std::string& text) {
        return parse_listpids(step, text);
    });
}

std::optional<Error> owned_by_another(const std::string& step,
                                      const std::vector<StepProcess>& processes) {
    for (const StepProcess& process : processes) {
        const auto owner = process.rank ? read_owner(process.pid) : std::nullopt;
        if (!owner || *owner == geteuid()) continue;
        return Error{"step " + step,
                     formatted("its tasks on this node belong to user {}, and this is user {}",
                               *owner, geteuid()),
                     "ask as the user who started it"};
    }
    return std::nullopt;
}

Result<NodeLook> find_step_processes(const std::string& node, const std::string& step,
                                     const Environment& environment) {
    const auto known = list_step_processes(node, step, environment);
    if (!known) return NodeLook{.node = node, .problem = known.error().message()};
    if (auto error = owned_by_another(step, *known)) return *std::move(error);
    NodeLook look{.node = node, .processes = find_processes(*known)};
    inherit_ranks(look);
    return look;
}

}  // namespace distgpu
