#include "inspect/step_tasks.h"

#include "base/format.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "slurm/slurm_command.h"

#include <chrono>
#include <sstream>
#include <unistd.h>

namespace distgpu {

std::vector<StepProcess> parse_listpids(const std::string& step, std::string_view text) {
    std::vector<StepProcess> processes;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string pid;
        std::string job;
        std::string name;
        std::string local;
        std::string rank;
        words >> pid >> job >> name >> local >> rank;
        constexpr std::size_t most_pids = std::size_t{1} << 22U;  // PID_MAX_LIMIT
        const auto number = number_below(pid, most_pids + 1);
        // 0 is one that this process's namespace does not have.
        if (!number || *number == 0 || job.append(".").append(name) != step) continue;
        processes.push_back({static_cast<pid_t>(*number), whole_number(rank)});
    }
    return processes;
}

Result<std::vector<StepProcess>> list_step_processes(const std::string& node,
                                                     const std::string& step,
                                                     const Environment& environment) {
    constexpr std::chrono::seconds limit{5};
    // Of a step it takes numbers alone, not "5.batch".
    const std::string job = step.substr(0, step.find('.'));
    std::vector<std::string> command{"scontrol", "listpids", job};
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

}  // namespace distgpu
