#include "slurm/script_lines.h"

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

// The text after "NAME="; nullopt if the word has no '='.
std::optional<std::string> assigned_value(const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
}

using Words = std::vector<std::string>;

// Follows SRUN_CPUS_PER_TASK through the commands of a script. srun reads it like its option
// --cpus-per-task, which since 22.05 is not inherited from the job.
class SrunCpus {
  public:
    // Called for each command of the script: the command may set, export or unset the variable.
    void read_command(const Words& words) {
        const auto name = std::find_if(words.begin(), words.end(), names_cpus);
        if (name == words.end()) return;
        const auto has = [&](std::string_view word) {
            return std::find(words.begin(), name, word) != name;
        };
        if (has("unset")) {
            *this = {};
            return;
        }
        const bool exports = has("export") || ((has("declare") || has("typeset")) && has("-x"));
        // An assignment before a command holds only for that command.
        if (!exports && !std::all_of(name, words.end(), assigned_value)) return;
        is_exported_ = is_exported_ || exports;
        if (auto value = assigned_value(*name)) value_ = std::move(value);
    }

    // The variable's value for the command at `srun`, which may set it itself: SRUN_CPUS_PER_TASK=8
    // srun ... Empty if it has none.
    std::string value_for(const Words& words, Words::const_iterator srun) const {
        const auto own = std::find_if(words.begin(), srun, names_cpus);
        if (own != srun && assigned_value(*own)) return *assigned_value(*own);
        return is_exported_ ? value_.value_or("") : "";
    }

  private:
    std::optional<std::string> value_;  // of the shell variable
    bool is_exported_ = false;
};

bool is_assignment(const std::string& word) {
    const std::size_t name = word.find_first_of("=/$-");
    return name != std::string::npos && name > 0 && word[name] == '=' &&
           word.find("$(") == std::string::npos;
}

// Whether the word may precede a command.
bool is_prefix(const std::string& word) {
    return is_assignment(word) || has_word("exec time if then elif else do ! while { env", word);
}

// Whether the word contains srun as a separate word, as in "$(srun" or in the text after sh -c.
bool contains_srun(const std::string& word) {
    constexpr std::string_view srun = "srun";
    const auto is_part_of_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    };
    for (std::size_t at = word.find(srun); at != std::string::npos; at = word.find(srun, at + 1)) {
        const std::size_t end = at + srun.size();
        if ((at == 0 || !is_part_of_name(word[at - 1])) &&
            (end == word.size() || !is_part_of_name(word[end]))) {
            return true;
        }
    }
    return false;
}

Error with_place(const std::string& where, const Error& error) {
    return {formatted("{}: {}", where, error.object), error.problem, error.remedy};
}

// The options of the #SBATCH lines. Those after the first command do not count (sbatch(1)).
Result<StepOptions> job_options(const std::string& file, std::string_view text,
                                const std::vector<ShellCommand>& commands) {
    constexpr std::string_view directive = "#SBATCH";
    StepOptions options;
    for (std::size_t number = 1; !text.empty(); ++number) {
        if (!commands.empty() && number >= commands.front().line) break;
        const std::string_view line = cut_until(text, '\n');
        if (!line.starts_with(directive)) continue;
        Words words{"sbatch"};
        for (const ShellCommand& command : shell_commands(line.substr(directive.size()))) {
            words.insert(words.end(), command.words.begin(), command.words.end());
        }
        const std::string where = formatted("{}:{}", file, number);
        const std::size_t old_count = options.unknown_options.size();
        const auto added = add_options(words, options);
        if (!added) return with_place(where, added.error());
        for (Error& error : std::span(options.unknown_options).subspan(old_count)) {
            error = with_place(where, error);
        }
    }
    return options;
}

// Adds the option for SRUN_CPUS_PER_TASK before the step's own options, which win. Returns an error
// if the value is unknown.
std::optional<Error> add_cpus(std::vector<std::string>& words, const std::string& cpus,
                              const StepOptions& job) {
    if (cpus.empty()) return std::nullopt;
    const bool is_from_job = cpus == "$SLURM_CPUS_PER_TASK" || cpus == "${SLURM_CPUS_PER_TASK}";
    if (!whole_number(cpus) && (!is_from_job || job.shape.cpus_per_task.empty())) {
        return Error{formatted("SRUN_CPUS_PER_TASK={}", excerpt(cpus)),
                     "not in this plan: only the shell knows this value",
                     "write it out to see the plan"};
    }
    words.insert(words.begin() + 1, "--cpus-per-task=" + cpus);
    return std::nullopt;
}

// `words`: srun and what follows it. Adds an error to `unclear` if SRUN_CPUS_PER_TASK is unknown.
ScriptLine read_step(Words words, const std::string& cpus, const StepOptions& job,
                     const std::string& where, std::vector<Error>& unclear) {
    std::string text = printable(join(words, " "));
    if (auto unknown = add_cpus(words, cpus, job)) unclear.push_back(with_place(where, *unknown));
    auto srun = read_srun_line(std::move(words), job);
    if (!srun) srun = with_place(where, srun.error());
    return {where, std::move(text), std::move(srun)};
}

// Whether the program gets its task's signals, and is no shell or launcher above the ranks.
bool may_be_rank(const std::vector<std::string>& program) {
    constexpr std::string_view launchers =
        "bash sh zsh torchrun accelerate deepspeed composer colossalai uv conda singularity "
        "apptainer env time timeout numactl";
    const bool is_module = program.size() > 1 && program[1] == "-m";
    return !program.empty() && !is_module && !has_word(launchers, file_name(program.front()));
}

bool passes_signals_on(const std::string& spec) {
    return std::ranges::any_of(comma_items(spec), [](std::string_view key) {
        return key == "signal" || (key.starts_with("signal=") && key != "signal=off");
    });
}

// With "B:" the signal is for the batch script alone, otherwise for the first process of each task
// (sbatch(1); proctrack_cgroup.c, 22.05 to 26.05).
std::optional<DeafRanks> deaf_ranks(const std::string& file, std::string_view text,
                                    const std::string& signal, const ScriptLines& lines) {
    if (signal.empty()) return std::nullopt;
    const std::string object = formatted("{}: --signal={}", file, excerpt(signal));
    const std::size_t colon = signal.find(':');
    const std::string plain = colon == std::string::npos ? signal : signal.substr(colon + 1);
    const std::string remedy =
        formatted("write --signal={}, and add signal to --distgpu=", excerpt(plain));
    if (colon != std::string::npos && signal.substr(0, colon).find('B') != std::string::npos) {
        if (text.find("trap") != std::string_view::npos) return std::nullopt;
        return DeafRanks{
            {object, "only the batch script gets it, and ends, because it has no trap", remedy},
            true};
    }
    const auto deaf = std::ranges::find_if(lines.steps, [](const ScriptLine& step) {
        return step.srun && !passes_signals_on(step.srun->spec) && !may_be_rank(step.srun->program);
    });
    if (deaf == lines.steps.end()) return std::nullopt;
    return DeafRanks{
        {object,
         formatted("on most sites it reaches only {} in line {}, and ends it, but no rank",
                   excerpt(file_name(deaf->srun->program.front())),
                   deaf->where.substr(deaf->where.rfind(':') + 1)),
         remedy}};
}

// sbatch refuses them in any line.
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
    if (auto error = windows_line_ends(file, text)) return *std::move(error);
    const std::vector<ShellCommand> commands = shell_commands(text);
    const auto job = job_options(file, text, commands);
    if (!job) return job.error();
    ScriptLines lines;
    std::vector<Error> unplanned;
    SrunCpus cpus;
    for (const ShellCommand& command : commands) {
        cpus.read_command(command.words);
        const std::string where = formatted("{}:{}", file, command.line);
        const auto srun = std::find_if_not(command.words.begin(), command.words.end(), is_prefix);
        if (srun != command.words.end() && file_name(*srun) == "srun") {
            lines.steps.push_back(read_step({srun, command.words.end()},
                                            cpus.value_for(command.words, srun), *job, where,
                                            lines.unclear));
        } else if (std::any_of(command.words.begin(), command.words.end(), contains_srun)) {
            unplanned.push_back({where, "cannot plan an srun inside another command",
                                 "run distgpu plan -- srun ..."});
        }
    }
    lines.unclear.insert(lines.unclear.end(), unplanned.begin(), unplanned.end());
    if (auto late = directive_after_command(text)) {
        late->object = formatted("{}: {}", file, late->object);
        lines.unclear.push_back(*std::move(late));
    }
    if (lines.steps.empty() && lines.unclear.empty()) {
        return Error{file, "it does not start a step", "start the program with srun"};
    }
    lines.deaf_ranks = deaf_ranks(file, text, job->signal, lines);
    lines.unclear.insert(lines.unclear.begin(), job->unknown_options.begin(),
                         job->unknown_options.end());
    return lines;
}

}  // namespace distgpu
