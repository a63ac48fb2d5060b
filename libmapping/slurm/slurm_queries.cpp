#include "slurm/slurm_queries.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/json.h"
#include "base/values.h"

#include <algorithm>
#include <set>
#include <thread>

namespace distgpu {
Result<std::string> run_slurm_command(const Environment& environment,
                                      const std::vector<std::string>& command,
                                      std::chrono::milliseconds time_limit) {
    std::vector<std::string> words{"/usr/bin/env"};
    for (const char* name : {"PATH", "SLURM_CONF"}) {
        if (const auto value = environment.get(name)) words.push_back(name + ("=" + *value));
    }
    words.insert(words.end(), command.begin(), command.end());
    auto text = run_command(words, time_limit);
    if (text) return text;
    // Names the command without the variables, as PATH may be very long.
    return Error{join(command, " "), text.error().problem, text.error().remedy};
}

namespace {

using namespace std::chrono_literals;

// The text between two others; empty if one of them is missing.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
    const std::size_t from = text.find(begin);
    if (from == std::string_view::npos) return {};
    text.remove_prefix(from + begin.size());
    const std::size_t to = text.find(end);
    return to == std::string_view::npos ? std::string_view() : text.substr(0, to);
}

// The tasks in "\tNode 1 (node04), 2 task(s): 5 7 ".
std::vector<std::uint32_t> tasks_of_line(std::string_view line) {
    std::vector<std::uint32_t> tasks;
    for (const std::string_view word :
         words_in(line.substr(std::min(line.find(": "), line.size())))) {
        if (const auto task = whole_number(word)) tasks.push_back(*task);
    }
    return tasks;
}

// The tasks of each node, in the order of the node list.
std::vector<std::vector<std::uint32_t>> tasks_of_nodes(std::string_view text) {
    std::vector<std::vector<std::uint32_t>> nodes;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        if (line.substr(0, 6) == "\tNode ") nodes.push_back(tasks_of_line(line));
    }
    return nodes;
}

Error layout_error(const std::string& step, std::string_view reason) {
    return {"step " + step,
            formatted("only slurmctld knows which node each task runs on, {}", reason),
            "use srun -m cyclic or -m plane=N, or srun --distgpu"};
}

std::optional<RunningStep> make_step(std::string_view id, std::string_view nodes,
                                     std::optional<std::uint32_t> tasks) {
    const auto hosts = HostList::parse(nodes);
    const std::size_t point = id.find('.');
    if (!hosts || !tasks || point == std::string_view::npos) return std::nullopt;
    return RunningStep{std::string(id), std::string(id.substr(0, point)), *hosts, *tasks};
}

std::string_view job_of(std::string_view name) {
    return name.substr(0, name.find('.'));
}

// "0", "0+1", "batch".
std::string_view name_of(const RunningStep& step) {
    return std::string_view(step.id).substr(step.job.size() + 1);
}

bool is_srun_step(const RunningStep& step) {
    const std::string_view name = name_of(step);
    return whole_number(name.substr(0, name.find('+'))).has_value();
}

constexpr std::chrono::seconds timeout{10};

Error query_error(const std::string& name, const Error& error) {
    return {name, error.cause(), error.remedy};
}

// Rejects everything that scontrol or srun could take for an option.
bool is_step_name(std::string_view text) {
    const auto is_allowed = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '+';
    };
    return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
           std::all_of(text.begin(), text.end(), is_allowed);
}

}  // namespace

Result<std::string> cancel_step(const std::string& step, const Environment& environment) {
    // srun drops output that has not arrived when the step is cancelled (22.05).
    std::this_thread::sleep_for(250ms);
    return run_slurm_command(environment, {"scancel", step}, 30s);
}

Result<StepLayout> parse_sattach(std::string_view text) {
    auto layout = HostList::parse(between(text, " nodes (", ")\n")).and_then([&](HostList hosts) {
        return StepLayout::from_task_lists(std::move(hosts), tasks_of_nodes(text));
    });
    if (layout) return layout;
    return Error{"sattach --layout", "printed no step layout", ""};
}

StepQuery layout_query(const Environment& environment) {
    return [&environment](const StepId& step) -> Result<StepLayout> {
        const std::string id = formatted("{}.{}", step.job, step.step);
        const auto tasks = environment.number("SLURM_STEP_NUM_TASKS");
        if (tasks.value_or(0) > max_querying_tasks) {
            return layout_error(id,
                                formatted("and at most {} tasks may ask it, but the step has {}",
                                          max_querying_tasks, *tasks));
        }
        auto layout = run_slurm_command(environment, {"sattach", "--layout", id}, 10s)
                          .and_then([](const std::string& text) { return parse_sattach(text); });
        if (layout) return layout;
        const std::string& problem = layout.error().problem;
        return layout_error(id, formatted("and sattach --layout failed: {}", problem));
    };
}

std::vector<RunningStep> parse_steps(std::string_view text) {
    std::vector<RunningStep> steps;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        if (value_in(line, "State") != "RUNNING") continue;
        auto step = make_step(value_in(line, "StepId"), value_in(line, "NodeList"),
                              whole_number(value_in(line, "Tasks")));
        if (step) steps.push_back(*std::move(step));
    }
    return steps;
}

std::vector<RunningStep> parse_steps_json(std::string_view text) {
    std::vector<RunningStep> steps;
    const auto problem = read_json(text, [&](const JsonFields& answer) {
        answer.for_each("steps", [&](const JsonFields& fields) {
            const std::vector<std::string> states = fields.texts("state");
            auto step = make_step(fields.text("id"), fields.text("nodes"),
                                  fields.count<std::uint32_t>("number_tasks"));
            if (step && states == std::vector<std::string>{"RUNNING"}) {
                steps.push_back(*std::move(step));
            }
        });
    });
    return problem ? std::vector<RunningStep>() : steps;
}

Result<RunningStep> choose_step(const std::string& name, std::vector<RunningStep> steps) {
    const std::string_view job = job_of(name);
    // scontrol lists the steps of that job, of the array's job with that number, or of the array.
    std::erase_if(steps, [&](const RunningStep& step) {
        return step.job != job &&
               (!whole_number_64(job) || step.job.find('_') == std::string::npos);
    });
    if (job.size() < name.size()) {
        // "0" means every component of a heterogeneous step.
        const std::string step_name = name.substr(job.size() + 1);
        std::erase_if(steps, [&](const RunningStep& step) {
            return name_of(step) != step_name && !name_of(step).starts_with(step_name + '+');
        });
    } else if (std::any_of(steps.begin(), steps.end(), is_srun_step)) {
        std::erase_if(steps, [](const RunningStep& step) { return !is_srun_step(step); });
    } else {
        std::erase_if(steps, [](const RunningStep& step) { return name_of(step) != "batch"; });
    }
    if (steps.empty()) {
        return Error{name, "no such step is running", "squeue --me --steps lists yours"};
    }
    if (steps.size() > 1) {
        std::vector<std::string> ids;
        ids.reserve(steps.size());
        for (const RunningStep& step : steps) ids.push_back(step.id);
        return Error{name, formatted("it has {} running steps", ids.size()),
                     formatted("name one of them: {}", join(ids, ", "))};
    }
    return steps.front();
}

RunningStep with_job(RunningStep step, std::string_view text) {
    while (!text.empty()) {
        std::string_view id = cut_until(text, '\n');
        const std::string_view number = cut_until(id, ' ');
        if (!whole_number_64(number) || (number != step.job && id != step.job)) continue;
        step.job = number;
        const std::size_t plus = id.find('+');
        if (plus == std::string_view::npos) return step;
        step.component = {std::string(id.substr(0, plus)), std::string(id.substr(plus + 1))};
        return step;
    }
    return step;
}

Result<RunningStep> find_running_step(const std::string& name, const Environment& environment) {
    if (!is_step_name(name)) {
        return Error{name, "not a step", "write JOB or JOB.STEP, as in 4711.0"};
    }
    const std::string job(job_of(name));
    const auto text =
        run_slurm_command(environment, {"scontrol", "--oneliner", "show", "step", job}, timeout);
    // For a job without steps scontrol fails, with a message on standard output.
    const auto has_no_steps = [](const Error& error) {
        return error.problem == "ended with status 1" ||
               error.problem.find("Invalid job id") != std::string::npos;
    };
    if (!text && !has_no_steps(text.error())) return query_error(name, text.error());
    std::vector<RunningStep> steps = parse_steps(text ? *text : "");
    std::set<std::string> ids;
    for (const RunningStep& step : steps) ids.insert(step.id);
    if (ids.size() < steps.size()) {
        const auto json =
            run_slurm_command(environment, {"scontrol", "--json", "show", "step", job}, timeout);
        if (!json) return query_error(name, json.error());
        steps = parse_steps_json(*json);
    }
    auto step = choose_step(name, std::move(steps));
    if (!step) return step;
    const auto jobs = run_slurm_command(
        environment, {"squeue", "--noheader", "--format=%A %i", "--jobs=" + step->job}, timeout);
    if (!jobs) return query_error(name, jobs.error());
    return with_job(*std::move(step), *jobs);
}

}  // namespace distgpu
