// See started.h.
#include "convert/started.h"

#include "convert/assignments.h"
#include "plan/srun_line.h"

#include <algorithm>
#include <array>
#include <vector>

namespace distgpu {
namespace {

// Nothing: --distgpu is there.
Result<std::optional<StartedCommand>> behind_srun(StartedCommand started) {
    const std::vector<std::string>& words = started.outer->words;
    const std::vector<std::string> line(
        words.begin() + static_cast<std::ptrdiff_t>(started.program), words.end());
    return program_at(line).transform([&](std::size_t program) -> std::optional<StartedCommand> {
        static constexpr std::array<std::string_view, 1> distgpu{"--distgpu"};
        static constexpr std::array<std::string_view, 2> cpus{"-c", "--cpus-per-task"};
        static constexpr std::array<std::string_view, 2> nodes{"-N", "--nodes"};
        static constexpr std::array<std::string_view, 5> names{"-w", "--nodelist", "-r",
                                                               "--relative", "-F"};
        const auto options = std::span(line).first(program);
        if (has_option(options, distgpu)) return std::nullopt;
        started.has_srun = true;
        started.asks_for_cpus = has_option(options, cpus);
        started.asks_for_nodes = has_option(options, nodes);
        started.names_nodes = has_option(options, names);
        started.program += program;
        return started;
    });
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

bool has_option(std::span<const std::string> words, std::span<const std::string_view> options) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return std::any_of(options.begin(), options.end(),
                           [&](std::string_view option) { return word.starts_with(option); });
    });
}

}  // namespace distgpu
