#include "slurm/running_step.h"

#include "base/format.h"
#include "base/json_fields.h"
#include "base/take_until.h"
#include "base/values.h"
#include "slurm/slurm_command.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace distgpu {
namespace {

// "NAME=value" among the words of a line; empty: it is not there.
std::string_view field(std::string_view line, std::string_view name) {
    while (!line.empty()) {
        const std::string_view word = take_until(line, ' ');
        const std::size_t equals = word.find('=');
        if (word.substr(0, equals) == name && equals != std::string_view::npos) {
            return word.substr(equals + 1);
        }
    }
    return {};
}

std::optional<RunningStep> step_of(std::string_view id, std::string_view nodes,
                                   std::optional<std::uint32_t> tasks) {
    const auto hosts = HostList::parse(nodes);
    const std::size_t point = id.find('.');
    if (!hosts || !tasks || point == std::string_view::npos) return std::nullopt;
    return RunningStep{std::string(id), std::string(id.substr(0, point)), *hosts, *tasks};
}

bool share_an_id(const std::vector<RunningStep>& steps) {
    std::set<std::string_view> ids;
    return std::any_of(steps.begin(), steps.end(),
                       [&](const RunningStep& step) { return !ids.insert(step.id).second; });
}

std::string_view job_of(std::string_view wanted) {
    return wanted.substr(0, wanted.find('.'));
}

// "0", "0+1", "batch".
std::string_view name_of(const RunningStep& step) {
    return std::string_view(step.id).substr(step.job.size() + 1);
}

bool is_of_srun(const RunningStep& step) {
    const std::string_view name = name_of(step);
    return whole_number(name.substr(0, name.find('+'))).has_value();
}

// What was listed is of that job, of an array's job with that number, or of all of that array.
bool is_of(const RunningStep& step, std::string_view job) {
    return step.job == job || (whole_number_64(job) && step.job.find('_') != std::string::npos);
}

// "0" names every component of a heterogeneous step.
bool is_named(const RunningStep& step, std::string_view name) {
    return name_of(step) == name || name_of(step).starts_with(std::string(name) + '+');
}

constexpr std::chrono::seconds limit{10};

Error not_listed(const std::string& wanted, const Error& error) {
    return {wanted, error.object + ": " + error.problem, error.remedy};
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

std::vector<RunningStep> running_steps(std::string_view listed) {
    std::vector<RunningStep> steps;
    while (!listed.empty()) {
        const std::string_view line = take_until(listed, '\n');
        if (field(line, "State") != "RUNNING") continue;
        auto step = step_of(field(line, "StepId"), field(line, "NodeList"),
                            whole_number(field(line, "Tasks")));
        if (step) steps.push_back(*std::move(step));
    }
    return steps;
}

std::vector<RunningStep> running_steps_of_json(std::string_view listed) {
    std::vector<RunningStep> steps;
    const auto problem = read_json(listed, [&](const JsonFields& answer) {
        answer.each("steps", [&](const JsonFields& fields) {
            const std::vector<std::string> states = fields.texts("state");
            auto step = step_of(fields.text("id"), fields.text("nodes"),
                                fields.count<std::uint32_t>("number_tasks"));
            if (step && states == std::vector<std::string>{"RUNNING"}) {
                steps.push_back(*std::move(step));
            }
        });
    });
    return problem ? std::vector<RunningStep>() : steps;
}

Result<RunningStep> choose_step(const std::string& wanted, std::vector<RunningStep> steps) {
    const std::string_view job = job_of(wanted);
    std::erase_if(steps, [&](const RunningStep& step) { return !is_of(step, job); });
    if (job.size() < wanted.size()) {
        const std::string_view name = std::string_view(wanted).substr(job.size() + 1);
        std::erase_if(steps, [&](const RunningStep& step) { return !is_named(step, name); });
    } else if (std::any_of(steps.begin(), steps.end(), is_of_srun)) {
        std::erase_if(steps, [](const RunningStep& step) { return !is_of_srun(step); });
    } else {
        std::erase_if(steps, [](const RunningStep& step) { return name_of(step) != "batch"; });
    }
    if (steps.empty()) {
        return Error{wanted, "no such step runs", "squeue --me --steps lists yours"};
    }
    if (steps.size() > 1) {
        std::vector<std::string> ids;
        ids.reserve(steps.size());
        for (const RunningStep& step : steps) ids.push_back(step.id);
        return Error{wanted, formatted("{} steps of it run", ids.size()),
                     formatted("name one of them: {}", join(ids, ", "))};
    }
    return steps.front();
}

RunningStep with_job(RunningStep step, std::string_view listed) {
    while (!listed.empty()) {
        std::string_view id = take_until(listed, '\n');
        const std::string_view number = take_until(id, ' ');
        if (!whole_number_64(number) || (number != step.job && id != step.job)) continue;
        step.job = number;
        const std::size_t plus = id.find('+');
        if (plus == std::string_view::npos) return step;
        step.component = {std::string(id.substr(0, plus)), std::string(id.substr(plus + 1))};
        return step;
    }
    return step;
}

Result<RunningStep> find_running_step(const std::string& wanted, const Environment& environment) {
    if (!may_name_a_step(wanted)) {
        return Error{wanted, "not a step", "write JOB or JOB.STEP, as in 4711.0"};
    }
    const std::string job(job_of(wanted));
    const auto listed =
        run_slurm_command(environment, {"scontrol", "--oneliner", "show", "step", job}, limit);
    // It says on standard output that a job has none, and fails.
    const auto ended = [](const Error& error) {
        return error.problem == "ended with status 1" ||
               error.problem.find("Invalid job id") != std::string::npos;
    };
    if (!listed && !ended(listed.error())) return not_listed(wanted, listed.error());
    std::vector<RunningStep> steps = running_steps(listed ? *listed : "");
    if (share_an_id(steps)) {
        const auto components =
            run_slurm_command(environment, {"scontrol", "--json", "show", "step", job}, limit);
        if (!components) return not_listed(wanted, components.error());
        steps = running_steps_of_json(*components);
    }
    auto step = choose_step(wanted, std::move(steps));
    if (!step) return step;
    const auto jobs = run_slurm_command(
        environment, {"squeue", "--noheader", "--format=%A %i", "--jobs=" + step->job}, limit);
    if (!jobs) return not_listed(wanted, jobs.error());
    return with_job(*std::move(step), *jobs);
}

}  // namespace distgpu
