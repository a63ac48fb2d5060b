#include "slurm/job_script.h"

#include "base/format.h"
#include "base/shell_words.h"
#include "base/values.h"
#include "mapping/spec/misplaced_option.h"

#include <algorithm>
#include <cctype>

namespace distgpu {
namespace {

bool names_cpus(std::string_view word) {
    return word.substr(0, word.find('=')) == "SRUN_CPUS_PER_TASK";
}

// Behind "NAME="; nothing: the word has no '='.
std::optional<std::string> value_in(const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
}

using Words = std::vector<std::string>;

// The CPUs per task that srun takes from SRUN_CPUS_PER_TASK, as its option --cpus-per-task (since
// 22.05 none from the job): reads the commands of a script one after the other.
class SrunCpus {
  public:
    // Takes note of a command that sets, exports or unsets the variable.
    void pass(const Words& words) {
        const auto named = std::find_if(words.begin(), words.end(), names_cpus);
        if (named == words.end()) return;
        const auto has = [&](std::string_view word) {
            return std::find(words.begin(), named, word) != named;
        };
        if (has("unset")) {
            *this = {};
            return;
        }
        const bool exports = has("export") || ((has("declare") || has("typeset")) && has("-x"));
        // Before a command it is that command's alone.
        if (!exports && !std::all_of(named, words.end(), value_in)) return;
        is_exported_ = is_exported_ || exports;
        if (auto value = value_in(*named)) value_ = std::move(value);
    }

    // Its value for a command, which has `srun` there and may set it itself: SRUN_CPUS_PER_TASK=8
    // srun ... Empty: it has none.
    std::string of(const Words& words, Words::const_iterator srun) const {
        const auto own = std::find_if(words.begin(), srun, names_cpus);
        if (own != srun && value_in(*own)) return *value_in(*own);
        return is_exported_ ? value_.value_or("") : "";
    }

  private:
    std::optional<std::string> value_;  // of the shell's variable
    bool is_exported_ = false;
};

bool is_assignment(const std::string& word) {
    const std::size_t name = word.find_first_of("=/$-");
    return name != std::string::npos && name > 0 && word[name] == '=' &&
           word.find("$(") == std::string::npos;
}

// What may stand before a command.
bool is_prefix(const std::string& word) {
    return is_assignment(word) || has_word("exec time if then elif else do ! while { env", word);
}

// As a word of its own within another, as in "$(srun" or in the text behind sh -c.
bool contains_srun(const std::string& word) {
    constexpr std::string_view srun = "srun";
    const auto belongs = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    };
    for (std::size_t at = word.find(srun); at != std::string::npos; at = word.find(srun, at + 1)) {
        const std::size_t end = at + srun.size();
        if ((at == 0 || !belongs(word[at - 1])) && (end == word.size() || !belongs(word[end]))) {
            return true;
        }
    }
    return false;
}

Error at(const std::string& where, const Error& error) {
    return {formatted("{}: {}", where, error.object), error.problem, error.remedy};
}

// Of the #SBATCH lines. Those behind the first command do not count (sbatch(1)).
Result<StepOptions> job_options(const std::string& file, std::string_view text,
                                const std::vector<ShellCommand>& commands) {
    constexpr std::string_view directive = "#SBATCH";
    StepOptions options;
    for (std::size_t number = 1; !text.empty(); ++number) {
        if (!commands.empty() && number >= commands.front().line) break;
        const std::string_view line = take_until(text, '\n');
        if (!line.starts_with(directive)) continue;
        Words words{"sbatch"};
        for (const ShellCommand& command : shell_commands(line.substr(directive.size()))) {
            words.insert(words.end(), command.words.begin(), command.words.end());
        }
        const std::string where = formatted("{}:{}", file, number);
        const std::size_t known = options.passed_over.size();
        const auto added = add_options(words, options);
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

// `words`: srun and what follows it. `unclear`: where SRUN_CPUS_PER_TASK is, if so.
ScriptLine read_step(Words words, const std::string& cpus, const StepOptions& job,
                     const std::string& where, std::vector<Error>& unclear) {
    std::string text = printable(join(words, " "));
    if (auto unknown = add_cpus(words, cpus, job)) unclear.push_back(at(where, *unknown));
    auto srun = read_srun_line(std::move(words), job);
    if (!srun) srun = at(where, srun.error());
    return {where, std::move(text), std::move(srun)};
}

// Which sbatch refuses wherever they stand.
std::optional<Error> windows_line_ends(const std::string& file, std::string_view text) {
    const std::size_t first = text.find("\r\n");
    if (first == std::string_view::npos) return std::nullopt;
    const auto line = 1 + std::count(text.begin(), text.begin() + first, '\n');
    return Error{formatted("{}:{}", file, line),
                 "the line ends in \\r\\n, and sbatch refuses scripts with such lines",
                 formatted("remove each \\r: sed -i 's/\\r$//' {}", file)};
}

}  // namespace

Result<ScriptLines> read_script_lines(const std::string& file, std::string_view text) {
    if (!text.starts_with("#!")) {
        return Error{file, "neither a mode nor a batch script, which begins with #!",
                     "see distgpu plan --help"};
    }
    if (auto refused = windows_line_ends(file, text)) return *std::move(refused);
    const std::vector<ShellCommand> commands = shell_commands(text);
    const auto job = job_options(file, text, commands);
    if (!job) return job.error();
    ScriptLines lines;
    std::vector<Error> unplanned;
    SrunCpus cpus;
    for (const ShellCommand& command : commands) {
        cpus.pass(command.words);
        const std::string where = formatted("{}:{}", file, command.line);
        const auto srun = std::find_if_not(command.words.begin(), command.words.end(), is_prefix);
        if (srun != command.words.end() && file_name(*srun) == "srun") {
            lines.steps.push_back(read_step({srun, command.words.end()},
                                            cpus.of(command.words, srun), *job, where,
                                            lines.unclear));
        } else if (std::any_of(command.words.begin(), command.words.end(), contains_srun)) {
            unplanned.push_back({where, "an srun within another command is not planned",
                                 "give it to distgpu plan -- srun ..."});
        }
    }
    lines.unclear.insert(lines.unclear.end(), unplanned.begin(), unplanned.end());
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
