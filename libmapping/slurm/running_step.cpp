#include "slurm/running_step.h"

#include "base/format.h"
#include "base/json.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace distgpu {
namespace {

std::optional<StepPart> make_part(std::string_view id, std::string_view nodes,
                                  std::optional<std::uint32_t> tasks, std::string_view name) {
    const auto hosts = HostList::parse(nodes);
    const std::size_t point = id.find('.');
    if (!hosts || !tasks || point == std::string_view::npos) return std::nullopt;
    return StepPart{std::string(id), std::string(id.substr(0, point)), *hosts, *tasks,
                    std::string(name)};
}

// "0" of "0+1".
std::string_view without_component(std::string_view step) {
    return step.substr(0, step.find('+'));
}

bool is_srun_step(std::string_view step) {
    return whole_number(step).has_value();
}

// "0+1" -> "1"; of a heterogeneous job the job's component.
std::string_view component_of(const StepPart& part) {
    if (part.component) return part.component->group;
    const std::size_t plus = part.step().find('+');
    return plus == std::string_view::npos ? std::string_view() : part.step().substr(plus + 1);
}

// A shell, from which a user starts the step that is meant, or the extra step of distgpu itself.
bool gives_way(const StepPart& part) {
    constexpr std::string_view shells = "ash bash csh dash fish ksh sh tcsh zsh";
    return part.name == "distgpu" || (part.tasks == 1 && has_word(shells, part.name));
}

using Steps = std::map<std::string, std::vector<StepPart>, std::less<>>;

// The steps of one job by their names, "0" or "batch", each with its components in their order.
Steps by_name(std::vector<StepPart> parts) {
    Steps steps;
    for (StepPart& part : parts) {
        steps[std::string(without_component(part.step()))].push_back(std::move(part));
    }
    for (auto& [name, components] : steps) {
        std::ranges::stable_sort(components, {}, [](const StepPart& part) {
            return whole_number(component_of(part)).value_or(0);
        });
        std::uint32_t tasks = 0;
        for (StepPart& part : components)
            part.first_task = std::exchange(tasks, tasks + part.tasks);
    }
    return steps;
}

// The steps that a job's name means.
void keep_main_steps(Steps& steps) {
    const auto is_of_srun = [](const auto& step) { return is_srun_step(step.first); };
    if (std::ranges::any_of(steps, is_of_srun)) {
        std::erase_if(steps, [&](const auto& step) { return !is_of_srun(step); });
        const auto is_secondary = [](const auto& step) {
            return std::ranges::all_of(step.second, gives_way);
        };
        if (!std::ranges::all_of(steps, is_secondary)) std::erase_if(steps, is_secondary);
        return;
    }
    const std::string_view special = steps.contains("interactive") ? "interactive" : "batch";
    std::erase_if(steps, [&](const auto& step) { return step.first != special; });
}

Error several_steps(const std::string& written, const std::string& job, const Steps& steps) {
    constexpr std::size_t max_names = 10;
    // By number, where the map has "10" before "9".
    std::vector<std::pair<std::uint32_t, std::string>> names;
    for (const auto& [step, parts] : steps) {
        names.emplace_back(whole_number(step).value_or(0),
                           formatted("{}.{} ({})", job, step, excerpt(parts.front().name)));
    }
    std::ranges::sort(names);
    std::vector<std::string> texts;
    for (const auto& name : names) {
        if (texts.size() < max_names) texts.push_back(name.second);
    }
    if (names.size() > max_names)
        texts.push_back(formatted("and {} more", names.size() - max_names));
    return {written, formatted("it has {} running steps", steps.size()),
            formatted("name one of them: {}", join(texts, ", "))};
}

}  // namespace

std::optional<StepName> StepName::parse(std::string_view text) {
    constexpr std::array<std::string_view, 3> special{"batch", "extern", "interactive"};
    const bool has_step = text.find('.') != std::string_view::npos;
    std::string_view step = text;
    std::string_view job = cut_until(step, '.');
    const bool has_job_component = job.find('+') != std::string_view::npos;
    std::string_view job_component = job;
    job = cut_until(job_component, '+');
    const bool has_step_component = step.find('+') != std::string_view::npos;
    std::string_view step_component = step;
    step = cut_until(step_component, '+');
    if (has_job_component && has_step_component) return std::nullopt;
    const std::string_view component = has_job_component ? job_component : step_component;
    if ((has_job_component || has_step_component) && !whole_number(component)) return std::nullopt;
    std::string_view element = job;
    const bool is_in_array = job.find('_') != std::string_view::npos;
    if (!whole_number(cut_until(element, '_'))) return std::nullopt;
    if (is_in_array && !whole_number(element)) return std::nullopt;
    if (has_step && !whole_number(step) && std::ranges::count(special, step) == 0) {
        return std::nullopt;
    }
    return StepName{std::string(job), std::string(component), std::string(step)};
}

std::vector<StepPart> parse_steps(std::string_view text) {
    std::vector<StepPart> parts;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        if (value_in(line, "State") != "RUNNING") continue;
        auto part = make_part(value_in(line, "StepId"), value_in(line, "NodeList"),
                              whole_number(value_in(line, "Tasks")), value_in(line, "Name"));
        if (part) parts.push_back(*std::move(part));
    }
    return parts;
}

std::vector<StepPart> parse_steps_json(std::string_view text) {
    std::vector<StepPart> parts;
    const auto problem = read_json(text, [&](const JsonFields& answer) {
        answer.for_each("steps", [&](const JsonFields& fields) {
            const std::vector<std::string> states = fields.texts("state");
            auto part = make_part(fields.text("id"), fields.text("nodes"),
                                  fields.count<std::uint32_t>("number_tasks"), fields.text("name"));
            if (part && states == std::vector<std::string>{"RUNNING"}) {
                parts.push_back(*std::move(part));
            }
        });
    });
    return problem ? std::vector<StepPart>() : parts;
}

Result<std::optional<RunningStep>> choose_step(const std::string& written, const StepName& name,
                                               const std::string& job,
                                               std::vector<StepPart> parts) {
    Steps steps = by_name(std::move(parts));
    if (name.step.empty()) {
        keep_main_steps(steps);
    } else {
        std::erase_if(steps, [&](const auto& step) { return step.first != name.step; });
    }
    if (!name.component.empty()) {
        for (auto& [step, components] : steps) {
            std::erase_if(components, [&](const StepPart& part) {
                return whole_number(component_of(part)) != whole_number(name.component);
            });
        }
        std::erase_if(steps, [](const auto& step) { return step.second.empty(); });
    }
    if (steps.empty()) return std::optional<RunningStep>();
    if (steps.size() > 1) return several_steps(written, job, steps);
    auto& [step, components] = *steps.begin();
    std::uint32_t tasks = 0;
    for (const StepPart& part : components) tasks += part.tasks;
    const std::string component = name.component.empty() ? "" : '+' + name.component;
    // As sacct writes a component of a heterogeneous job, and squeue one of a step inside a job.
    const std::string id =
        components.front().component ? job + component + '.' + step : job + '.' + step + component;
    return std::optional(RunningStep{id, components, tasks, !name.component.empty()});
}

}  // namespace distgpu
