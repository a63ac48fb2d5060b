#include "slurm/script_lines.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/spec/misplaced_option.h"
#include "slurm/job_script.h"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

std::string place(const std::string& file, std::size_t line) {
    return formatted("{}:{}", file, line);
}

Error at(const std::string& where, const Error& error) {
    return {formatted("{}: {}", where, error.object), error.problem, error.remedy};
}

Result<StepOptions> job_options(const std::string& file, const JobScript& script) {
    StepOptions options;
    for (const ShellCommand& directive : script.directives) {
        const std::string where = place(file, directive.line);
        const std::size_t known = options.passed_over.size();
        const auto added = add_options(directive.words, options);
        if (!added) return at(where, added.error());
        for (Error& error : std::span(options.passed_over).subspan(known)) error = at(where, error);
    }
    return options;
}

// Gives the step the option that SRUN_CPUS_PER_TASK stands for, before those of its own, which win.
// The error where the plan cannot know it.
std::optional<Error> add_cpus(std::vector<std::string>& words, const std::string& cpus,
                              const StepOptions& job) {
    if (cpus.empty()) return std::nullopt;
    const bool is_jobs = cpus == "$SLURM_CPUS_PER_TASK" || cpus == "${SLURM_CPUS_PER_TASK}";
    if (!whole_number(cpus) && (!is_jobs || job.shape.cpus_per_task.empty())) {
        return Error{formatted("SRUN_CPUS_PER_TASK={}", excerpt(cpus)),
                     "not in this plan: only the shell knows this value",
                     "write it out to see the plan"};
    }
    words.insert(words.begin() + 1, "--cpus-per-task=" + cpus);
    return std::nullopt;
}

}  // namespace

Result<ScriptLines> read_script_lines(const std::string& file, std::string_view text) {
    if (!text.starts_with("#!")) {
        return Error{file, "neither a mode nor a batch script, which begins with #!",
                     "see distgpu plan --help"};
    }
    if (auto refused = windows_line_ends(file, text)) return *std::move(refused);
    const JobScript script = read_job_script(text);
    const auto job = job_options(file, script);
    if (!job) return job.error();
    ScriptLines lines;
    for (std::size_t i = 0; i < script.steps.size(); ++i) {
        const ShellCommand& step = script.steps[i];
        const std::string where = place(file, step.line);
        std::vector<std::string> words = step.words;
        if (auto unknown = add_cpus(words, script.cpus[i], *job)) {
            lines.unclear.push_back(at(where, *unknown));
        }
        auto srun = read_srun_line(std::move(words), *job);
        if (!srun) srun = at(where, srun.error());
        lines.steps.push_back({where, printable(join(step.words, " ")), std::move(srun)});
    }
    for (const std::size_t line : script.unclear) {
        lines.unclear.push_back({place(file, line), "an srun within another command is not planned",
                                 "give it to distgpu plan -- srun ..."});
    }
    if (auto late = late_directive(text)) {
        late->object = formatted("{}: {}", file, late->object);
        lines.unclear.push_back(*std::move(late));
    }
    if (lines.steps.empty() && lines.unclear.empty()) {
        return Error{file, "it starts no step", "start the program with srun"};
    }
    lines.unclear.insert(lines.unclear.begin(), job->passed_over.begin(), job->passed_over.end());
    return lines;
}

}  // namespace distgpu
