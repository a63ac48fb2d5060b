#include "convert/started.h"

#include "convert/assignments.h"
#include "slurm/slurm_options.h"

#include <span>

namespace distgpu {
namespace {

// Where the options leave it unclear what the program is.
std::optional<Error> unclear_option(const SlurmOptions& options) {
    for (const SlurmOption& option : options.list) {
        if (option.kind == SlurmOption::Kind::lacks_value) {
            return Error{option.word, "it needs a value", "give it one"};
        }
        if (option.may_take_next_word()) {
            return Error{option.word, "no option of srun that is known here",
                         "join it to its value by ="};
        }
    }
    return std::nullopt;
}

// Nothing: --distgpu is there.
Result<std::optional<StartedCommand>> behind_srun(StartedCommand started) {
    const auto words = std::span<const std::string>(started.outer->words).subspan(started.program);
    const auto [options, program] = parse_slurm_line(words, SlurmCommand::srun);
    if (auto error = unclear_option(options)) return *std::move(error);
    if (options.has("distgpu")) return std::optional<StartedCommand>();
    started.has_srun = true;
    started.asks_for_cpus = options.has("cpus-per-task");
    started.asks_for_nodes = options.has("nodes");
    started.names_nodes =
        options.has("nodelist") || options.has("relative") || options.has("nodefile");
    started.program += program;
    return std::optional(std::move(started));
}

// Nothing: it is not understood.
std::optional<StartedCommand> within_shell(std::string_view script, StartedCommand started) {
    if (!starts_shell(started.outer->words, started.program)) return started;
    if (!started.has_srun) return std::nullopt;
    started.text = read_shell_text(script, *started.outer, started.program);
    if (!started.text) return std::nullopt;
    started.program = first_word(started.command().words);
    return started.program < started.command().words.size() ? std::optional(std::move(started))
                                                            : std::nullopt;
}

}  // namespace

Result<std::optional<StartedCommand>> read_started(std::string_view script,
                                                   const ShellCommand& command) {
    const std::vector<std::string>& words = command.words;
    StartedCommand started{&command, {}, 0, first_word(words)};
    if (started.program == words.size()) return std::optional<StartedCommand>();
    const std::string& name = words[started.program];
    auto step = name.substr(name.rfind('/') + 1) == "srun"
                    ? behind_srun(std::move(started))
                    : Result<std::optional<StartedCommand>>(std::move(started));
    return std::move(step).transform(
        [&](std::optional<StartedCommand> found) -> std::optional<StartedCommand> {
            if (!found || found->program >= words.size()) return std::nullopt;
            found->step = found->program;
            return within_shell(script, *std::move(found));
        });
}

}  // namespace distgpu
