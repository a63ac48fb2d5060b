// See running_step.h.
#include "running/running_step.h"

#include "base/format.h"
#include "base/values.h"
#include "node/slurm_command.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace distgpu {
namespace {

// "NAME=value" among the words of a line; empty: it is not there.
std::string_view field(std::string_view line, std::string_view name) {
    while (!line.empty()) {
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(std::min(word.size() + 1, line.size()));
        const std::size_t equals = word.find('=');
        if (word.substr(0, equals) == name && equals != std::string_view::npos) {
            return word.substr(equals + 1);
        }
    }
    return {};
}

std::optional<RunningStep> running_step_in(std::string_view line) {
    const std::string_view id = field(line, "StepId");
    if (id.empty() || field(line, "State") != "RUNNING") return std::nullopt;
    const auto nodes = HostList::parse(field(line, "NodeList"));
    const auto tasks = whole_number(field(line, "Tasks"));
    if (!nodes || !tasks) return std::nullopt;
    return RunningStep{std::string(id), *nodes, *tasks};
}

std::vector<RunningStep> running_steps_in(std::string_view text) {
    std::vector<RunningStep> steps;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (auto step = running_step_in(line)) steps.push_back(*std::move(step));
    }
    return steps;
}

bool is_of_srun(const RunningStep& step) {
    return whole_number(std::string_view(step.id).substr(step.id.find('.') + 1)).has_value();
}

// The option parser of scontrol and srun see nothing else.
bool may_name_a_step(std::string_view text) {
    const auto fits = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '+';
    };
    return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
           std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

Result<RunningStep> choose_step(const std::string& wanted, std::string_view listed) {
    std::vector<RunningStep> steps = running_steps_in(listed);
    const bool of_job = wanted.find('.') == std::string::npos;
    if (of_job && std::any_of(steps.begin(), steps.end(), is_of_srun)) {
        std::erase_if(steps, [](const RunningStep& step) { return !is_of_srun(step); });
    } else if (of_job) {
        std::erase_if(steps, [](const RunningStep& step) { return !step.id.ends_with(".batch"); });
    } else {
        // scontrol lists all of the job for a name that it does not know.
        std::erase_if(steps, [&](const RunningStep& step) { return step.id != wanted; });
    }
    if (steps.empty()) {
        return Error{wanted, "no such step runs", "squeue --me --steps lists yours"};
    }
    if (steps.size() > 1) {
        std::vector<std::string> ids;
        for (const RunningStep& step : steps) ids.push_back(step.id);
        return Error{wanted, formatted("{} steps of it run", ids.size()),
                     formatted("name one of them: {}", join(ids, ", "))};
    }
    return steps.front();
}

Result<RunningStep> find_running_step(const std::string& wanted, const Environment& environment) {
    if (!may_name_a_step(wanted)) {
        return Error{wanted, "not a step", "write JOB or JOB.STEP, as in 4711.0"};
    }
    constexpr std::chrono::seconds limit{10};
    const auto listed =
        run_slurm_command(environment, {"scontrol", "--oneliner", "show", "step", wanted}, limit);
    if (listed) return choose_step(wanted, *listed);
    if (listed.error().problem.find("not found") != std::string::npos ||
        listed.error().problem.find("Invalid job id") != std::string::npos) {
        return choose_step(wanted, "");
    }
    return Error{wanted, listed.error().object + ": " + listed.error().problem,
                 listed.error().remedy};
}

}  // namespace distgpu
