#include "slurm/job_state.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <utility>

namespace distgpu {
namespace {

// The words of scontrol(1) and sacct(1) for jobs that have ended, and a predicate for each; an
// empty one for those whose exit code says more.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> ended_states{
    {{"COMPLETED", "completed"},
     {"FAILED", ""},
     {"CANCELLED", "was cancelled"},
     {"TIMEOUT", "reached its time limit"},
     {"OUT_OF_MEMORY", "ran out of memory"},
     {"NODE_FAIL", "lost a node"},
     {"PREEMPTED", "was preempted"},
     {"BOOT_FAIL", "was ended because its nodes did not boot"},
     {"DEADLINE", "reached its deadline"},
     {"REVOKED", "was moved to another cluster"}}};

// "CANCELLED" of "CANCELLED by 1000".
std::string_view first_word(std::string_view text) {
    return text.substr(0, text.find(' '));
}

bool is_end_state(std::string_view state) {
    return std::ranges::any_of(ended_states,
                               [&](const auto& each) { return each.first == first_word(state); });
}

bool is_srun_step(std::string_view id) {
    const std::size_t point = id.find('.');
    if (point == std::string_view::npos) return false;
    const std::string_view step = id.substr(point + 1);
    return whole_number(step.substr(0, step.find('+'))).has_value();
}

// scontrol's placeholders for a value that there is not.
std::string known(std::string_view value) {
    constexpr std::string_view unknown = "(null) None N/A Unknown";
    return has_word(unknown, value) ? "" : std::string(value);
}

// "1-2", "1-2,5" -> "1", "2", "5".
std::vector<std::string> component_numbers(std::string_view set) {
    constexpr std::size_t max_components = 128;  // Slurm's MAX_HET_JOB_COMPS
    std::vector<std::string> numbers;
    for (const std::string_view item : words_in(set, ",")) {
        const auto range = number_range_below(item, UINT32_MAX);
        if (!range) continue;
        for (std::uint32_t number = range->first;
             number <= range->last && numbers.size() < max_components; ++number) {
            numbers.push_back(formatted("{}", number));
        }
    }
    return numbers;
}

std::string id_of(std::string_view number, std::string_view line) {
    const std::string_view array = value_in(line, "ArrayJobId");
    const std::string_view task = value_in(line, "ArrayTaskId");
    if (!array.empty()) {
        return whole_number(task) ? formatted("{}_{}", array, task)
                                  : formatted("{}_[{}]", array, task);
    }
    const std::string_view leader = value_in(line, "HetJobId");
    if (leader.empty()) return std::string(number);
    return formatted("{}+{}", leader, value_in(line, "HetJobOffset"));
}

// ", at 2026-11-27T02:46:56 after 00:00:01"; empty without a time.
std::string when(std::string_view end_time, std::string_view run_time) {
    if (known(end_time).empty()) return "";
    return formatted(", at {}{}", excerpt(end_time),
                     known(run_time).empty() ? "" : formatted(" after {}", excerpt(run_time)));
}

// The steps that ended otherwise than completed, the first to end first: "; step 7.0 ...".
std::string failed_steps(const Job& job, const std::vector<AccountedStep>& listed) {
    constexpr std::size_t max_steps = 4;
    std::vector<AccountedStep> failed;
    std::ranges::copy_if(listed, std::back_inserter(failed), [&](const AccountedStep& step) {
        const std::string_view word = first_word(step.state);
        // Those of a job that was cancelled were too.
        const bool says_more =
            word != "COMPLETED" && (word != "CANCELLED" || word != first_word(job.state));
        return is_srun_step(step.id) && is_end_state(step.state) && says_more;
    });
    // ISO times sort as text.
    std::ranges::stable_sort(failed, {}, &AccountedStep::end_time);
    std::string text;
    for (std::size_t i = 0; i < std::min(failed.size(), max_steps); ++i) {
        text += "; " + ended_sentence("step " + excerpt(failed[i].id), failed[i]);
    }
    if (failed.size() > max_steps) {
        text += formatted("; {} more did not complete", failed.size() - max_steps);
    }
    return text;
}

}  // namespace

bool Job::is_running() const {
    constexpr std::string_view others =
        "PENDING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD CONFIGURING "
        "POWER_UP_NODE SUSPENDED COMPLETING STAGE_OUT";
    return !has_ended() && !has_word(others, state);
}

bool Job::has_ended() const {
    return is_end_state(state);
}

std::vector<Job> parse_jobs(std::string_view text) {
    std::vector<Job> jobs;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        const std::string_view number = value_in(line, "JobId");
        if (!whole_number(number)) continue;
        std::string_view user = value_in(line, "UserId");
        Job job{.number = std::string(number),
                .id = id_of(number, line),
                .name = std::string(value_in(line, "JobName")),
                .user = std::string(cut_until(user, '(')),
                .state = std::string(value_in(line, "JobState")),
                .reason = known(value_in(line, "Reason")),
                .nodes = known(value_in(line, "NodeList")),
                .run_time = known(value_in(line, "RunTime")),
                .exit_code = std::string(value_in(line, "ExitCode")),
                .end_time = known(value_in(line, "EndTime")),
                .suspend_time = known(value_in(line, "SuspendTime"))};
        if (const std::string_view leader = value_in(line, "HetJobId"); !leader.empty()) {
            job.component = {std::string(leader), std::string(value_in(line, "HetJobOffset"))};
            job.components = component_numbers(value_in(line, "HetJobIdSet"));
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

std::vector<AccountedStep> parse_sacct(std::string_view text) {
    std::vector<AccountedStep> steps;
    while (!text.empty()) {
        std::string_view line = cut_until(text, '\n');
        if (std::ranges::count(line, '|') < 6) continue;
        AccountedStep step;
        for (std::string* const field :
             {&step.id, &step.user, &step.state, &step.exit_code, &step.end_time, &step.run_time}) {
            *field = cut_until(line, '|');
        }
        step.name = line;
        steps.push_back(std::move(step));
    }
    return steps;
}

std::vector<Job> ended_jobs(const std::vector<AccountedStep>& listed) {
    std::vector<Job> jobs;
    for (const AccountedStep& step : listed) {
        if (step.id.find('.') != std::string::npos || !is_end_state(step.state)) continue;
        Job job{.number = step.id,
                .id = step.id,
                .name = step.name,
                .user = step.user,
                .state = step.state,
                .run_time = known(step.run_time),
                .exit_code = step.exit_code,
                .end_time = known(step.end_time)};
        const std::size_t plus = step.id.find('+');
        if (plus != std::string::npos) {
            job.component = {step.id.substr(0, plus), step.id.substr(plus + 1)};
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

std::optional<AccountedStep> find_ended(const std::vector<AccountedStep>& listed,
                                        std::string_view id) {
    const auto found = std::ranges::find(listed, id, &AccountedStep::id);
    if (found == listed.end() || !is_end_state(found->state)) return std::nullopt;
    return *found;
}

std::string how_it_ended(std::string_view state, std::string_view exit_code) {
    const std::string_view status = cut_until(exit_code, ':');
    const std::string_view signal = exit_code;
    const bool is_signal = whole_number(signal).value_or(0) > 0;
    const std::string_view word = first_word(state);
    if (word == "FAILED") {
        return is_signal ? formatted("was killed by signal {}", signal)
                         : formatted("failed with exit status {}", excerpt(status));
    }
    const auto* const known_state = std::ranges::find(
        ended_states, word, &std::pair<std::string_view, std::string_view>::first);
    if (known_state == ended_states.end()) return formatted("is {}", excerpt(state));
    constexpr std::string_view by = "CANCELLED by ";
    std::string text(known_state->second);
    if (state.starts_with(by)) text += formatted(" by user {}", excerpt(state.substr(by.size())));
    // A step whose other tasks srun ended after one was killed is cancelled too.
    if (word == "CANCELLED" && is_signal) text += formatted(" (signal {})", signal);
    return text;
}

std::string ended_sentence(std::string_view what, const AccountedStep& ended) {
    return formatted("{} {}{}", what, how_it_ended(ended.state, ended.exit_code),
                     when(ended.end_time, ended.run_time));
}

std::string state_sentence(const Job& job, const std::vector<AccountedStep>& listed) {
    const std::string what = "job " + excerpt(job.id);
    if (job.state == "SUSPENDED") {
        return formatted(
            "{} is suspended{}; its processes cannot move until `scontrol resume {}`", what,
            job.suspend_time.empty() ? "" : " since " + excerpt(job.suspend_time), job.number);
    }
    if (job.state == "COMPLETING") {
        return formatted("{} is ending: Slurm waits until its processes on {} are gone", what,
                         job.nodes.empty() ? "its nodes" : excerpt(job.nodes));
    }
    if (job.state == "CONFIGURING" || job.state == "POWER_UP_NODE") {
        return formatted("{} has not started: its nodes are being prepared", what);
    }
    if (job.state == "STAGE_OUT") {
        return formatted("{} has ended, and its data is being copied", what);
    }
    if (job.has_ended()) {
        return formatted("{} {}{}{}", what, how_it_ended(job.state, job.exit_code),
                         when(job.end_time, job.run_time), failed_steps(job, listed));
    }
    return formatted("{} has not started: it is {}{}", what,
                     job.state == "PENDING" ? "pending" : excerpt(job.state),
                     job.reason.empty() ? "" : formatted(" ({})", excerpt(job.reason)));
}

}  // namespace distgpu
