#include "slurm/find_running_step.h"

#include "base/format.h"
#include "base/values.h"
#include "slurm/slurm_conf.h"
#include "slurm/slurm_queries.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace distgpu {
namespace {

constexpr std::chrono::seconds timeout{10};

// "4711 (train), 4712 (eval), and 3 more".
std::string job_list(const std::vector<std::pair<std::string, std::string>>& jobs) {
    constexpr std::size_t max_jobs = 10;
    std::vector<std::string> texts;
    for (const auto& [id, note] : jobs) {
        if (texts.size() < max_jobs) texts.push_back(formatted("{} ({})", id, excerpt(note)));
    }
    if (jobs.size() > max_jobs) texts.push_back(formatted("and {} more", jobs.size() - max_jobs));
    return join(texts, ", ");
}

// The ids and names in lines of "%i %T %j", those of jobs that run, or else all; the components of
// a heterogeneous job as one.
std::vector<std::pair<std::string, std::string>> own_jobs(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> running;
    std::vector<std::pair<std::string, std::string>> others;
    while (!text.empty()) {
        std::string_view line = cut_until(text, '\n');
        std::string_view id = trimmed(cut_until(line, ' '));
        id = id.substr(0, std::min(id.find('+'), id.find("_[")));
        const std::string_view state = cut_until(line, ' ');
        auto& jobs = state == "RUNNING" ? running : others;
        const bool is_known =
            std::ranges::any_of(jobs, [&](const auto& j) { return j.first == id; });
        if (!id.empty() && !is_known) jobs.emplace_back(id, line);
    }
    return running.empty() ? others : running;
}

// What Slurm's accounting lists for a job or step; empty without accounting.
std::vector<AccountedStep> accounted(const std::string& name, const Environment& environment) {
    const auto text = run_slurm_command(environment,
                                        {"sacct", "--noheader", "--parsable2", "--jobs=" + name,
                                         std::string("--format=") + sacct_fields},
                                        timeout);
    return parse_sacct(text ? *text : "");
}

bool is_unknown_job(const Error& error) {
    return error.problem.find("Invalid job id") != std::string::npos;
}

std::string lower_case(std::string_view text) {
    std::string lower(text.substr(0, text.find(' ')));
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

class Search {
  public:
    Search(std::string written, StepName name, const Environment& environment)
        : written_(std::move(written)), name_(std::move(name)), environment_(environment) {}

    Result<FoundStep> find() {
        const auto text = query({"show", "job", name_.job});
        if (!text) return is_unknown_job(text.error()) ? find_accounted() : error(text.error());
        std::vector<Job> jobs = parse_jobs(*text);
        if (jobs.empty()) return find_accounted();
        auto job = choose_job(std::move(jobs));
        if (!job) return job.error();
        return find_in(*job);
    }

  private:
    Result<std::string> query(std::vector<std::string> words,
                              const char* form = "--oneliner") const {
        words.insert(words.begin(), {"scontrol", form});
        return run_slurm_command(environment_, words, timeout);
    }

    Error error(const Error& cause) const { return {written_, cause.cause(), cause.remedy}; }

    // Of an array the only job that runs, of a heterogeneous job the wanted component.
    Result<Job> choose_job(std::vector<Job> jobs) {
        if (const auto& component = jobs.front().component) {
            // The number of a later component means that one.
            if (name_.component.empty() && name_.job != component->leader) {
                name_.component = component->group;
            }
            name_.job = component->leader;
            const std::string wanted = name_.component.empty() ? "0" : name_.component;
            std::erase_if(jobs, [&](const Job& job) {
                return !job.component || whole_number(job.component->group) != whole_number(wanted);
            });
            if (jobs.empty()) return unknown_component();
            if (name_.component.empty()) jobs.front().id = component->leader;
            return jobs.front();
        }
        if (jobs.size() == 1) return jobs.front();
        return choose_element(jobs);
    }

    Result<Job> choose_element(const std::vector<Job>& jobs) const {
        std::vector<Job> running = jobs;
        std::erase_if(running, [](const Job& job) { return !job.is_running(); });
        if (running.size() == 1) return running.front();
        std::vector<std::pair<std::string, std::string>> list;
        for (const Job& job : running.empty() ? jobs : running) {
            list.emplace_back(job.id, running.empty() ? job.state : job.name);
        }
        const std::string which = running.empty() ? "none of its jobs runs"
                                                  : formatted("{} of its jobs run", running.size());
        return Error{written_, "an array, and " + which,
                     formatted("name one of them: {}", job_list(list))};
    }

    Error unknown_component() const {
        return {written_, formatted("job {} has no component {}", name_.job, name_.component),
                formatted("squeue --jobs={} lists them", name_.job)};
    }

    Result<FoundStep> find_in(const Job& job) const {
        FoundStep found{.job = job.id, .user = job.user, .state = lower_case(job.state)};
        if (job.has_ended()) return report_end(job, accounted(job.number, environment_));
        if (!job.is_running()) {
            found.sentence = state_sentence(job);
            return found;
        }
        auto parts = steps_of(job);
        if (!parts) return error(parts.error());
        const std::string squeue_id = job.component ? job.component->leader : job.id;
        auto step = choose_step(written_, name_, squeue_id, *std::move(parts));
        if (!step) return step.error();
        if (*step) {
            found.step = **std::move(step);
            return found;
        }
        return without_step(job, std::move(found));
    }

    // A job that runs, but not the wanted step.
    Result<FoundStep> without_step(const Job& job, FoundStep found) const {
        if (name_.step.empty() && name_.component.empty()) {
            found.sentence =
                formatted("job {} runs, but no program in it; srun starts one", found.job);
            return found;
        }
        const std::string id = step_id(job);
        const auto ended = find_ended(accounted(job.number, environment_), id);
        if (!ended) {
            return Error{written_, "no such step is running",
                         formatted("squeue --steps --jobs={} lists those that are", job.number)};
        }
        found.sentence = ended_sentence("step " + id, *ended);
        return found;
    }

    // The running steps of the job and of the other components of a heterogeneous job.
    Result<std::vector<StepPart>> steps_of(const Job& job) const {
        if (!job.component) return steps_of_one(job);
        std::vector<StepPart> all;
        for (std::size_t group = 0; group < job.components.size(); ++group) {
            auto parts = steps_of_one(
                {.number = job.components[group],
                 .id = job.components[group],
                 .component = JobComponent{job.component->leader, formatted("{}", group)}});
            if (!parts) return parts;
            std::ranges::move(*parts, std::back_inserter(all));
        }
        return all;
    }

    Result<std::vector<StepPart>> steps_of_one(const Job& job) const {
        const auto text = query({"show", "step", job.id});
        // For a job without steps scontrol fails, with a message on standard output.
        const auto has_no_steps = [](const Error& error) {
            return error.problem == "ended with status 1" || is_unknown_job(error);
        };
        if (!text && !has_no_steps(text.error())) return text.error();
        std::vector<StepPart> parts = parse_steps(text ? *text : "");
        std::set<std::string> ids;
        for (const StepPart& part : parts) ids.insert(part.id);
        if (ids.size() < parts.size()) {
            const auto json = query({"show", "step", job.id}, "--json");
            if (!json) return json.error();
            parts = parse_steps_json(*json);
        }
        // For a component's number some releases list the steps of the first component too.
        std::erase_if(parts, [&](const StepPart& part) { return part.job != job.id; });
        for (StepPart& part : parts) {
            part.job = job.number;
            part.component = job.component;
        }
        return parts;
    }

    // A job that slurmctld no longer knows.
    Result<FoundStep> find_accounted() {
        const std::vector<AccountedStep> listed = accounted(name_.job, environment_);
        std::vector<Job> jobs = ended_jobs(listed);
        if (jobs.empty()) {
            return Error{written_, formatted("no job {} is known to Slurm", name_.job),
                         "squeue --me lists yours"};
        }
        auto job = choose_job(std::move(jobs));
        if (!job) return job.error();
        return report_end(*job, listed);
    }

    // How the job, or its step, ended.
    FoundStep report_end(const Job& job, std::vector<AccountedStep> listed) const {
        FoundStep found{.job = job.id, .user = job.user, .state = lower_case(job.state)};
        const std::string step = step_id(job);
        const auto ended = name_.step.empty() ? std::nullopt : find_ended(listed, step);
        if (ended) {
            found.sentence = ended_sentence("step " + step, *ended);
            return found;
        }
        // A number may list its array's other jobs too.
        std::erase_if(listed, [&](const AccountedStep& each) {
            return !each.id.starts_with(job.id + '.') && !each.id.starts_with(job.id + '+');
        });
        found.sentence = state_sentence(job, listed);
        return found;
    }

    // As sacct writes it.
    std::string step_id(const Job& job) const {
        if (!job.component) return job.id + '.' + name_.step;
        return formatted("{}+{}.{}", job.component->leader, job.component->group, name_.step);
    }

    std::string written_;
    StepName name_;
    const Environment& environment_;
};

// The name of the job that a command without a name means.
Result<std::string> own_job(const Environment& environment) {
    if (const std::string around = environment.text("SLURM_JOB_ID"); !around.empty()) return around;
    const auto text = run_slurm_command(
        environment, {"squeue", "--me", "--noheader", "--format=%i %T %j"}, timeout);
    if (!text) return text.error();
    const auto jobs = own_jobs(*text);
    if (jobs.size() == 1) return jobs.front().first;
    if (jobs.empty()) {
        return Error{"your jobs", "none is running or pending", "name one that has ended"};
    }
    return Error{"your jobs", formatted("there are {}", jobs.size()),
                 formatted("name one of them: {}", job_list(jobs))};
}

}  // namespace

Result<FoundStep> find_step(const std::string& name, const Environment& environment) {
    std::string written = name;
    if (written.empty()) {
        auto own = own_job(environment);
        if (!own) return own.error();
        written = *std::move(own);
    }
    auto parsed = StepName::parse(written);
    if (!parsed) {
        return Error{excerpt(written), "not the name of a job or step",
                     "write JOB or JOB.STEP, as in 4711 or 4711.0"};
    }
    return Search(std::move(written), *std::move(parsed), environment).find();
}

Result<RunningStep> find_running_step(const std::string& name, const Environment& environment) {
    auto found = find_step(name, environment);
    if (!found) return found.error();
    if (found->step) return *std::move(found->step);
    return Error{name, found->sentence, ""};
}

std::string cluster_name(const Environment& environment) {
    if (const auto name = environment.get("SLURM_CLUSTER_NAME")) return *name;
    const auto config = run_slurm_command(environment, {"scontrol", "show", "config"}, timeout);
    return config ? slurm_conf_value(*config, "ClusterName").value_or("") : "";
}

}  // namespace distgpu
