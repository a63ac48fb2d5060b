#include "mapping/spec/misplaced_option.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/take_until.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace distgpu {
namespace {

constexpr std::string_view option = "--distgpu=";

// Whether the word is --distgpu with a value that asks for something.
bool asks(std::string_view word) {
    if (!word.starts_with(option)) return false;
    const auto request = parse_spec("--distgpu", word.substr(option.size()));
    return request && request->framework != nullptr;
}

std::string_view trimmed(std::string_view line) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t\r")));
    return line;
}

std::optional<std::string_view> option_in(std::string_view directive) {
    while (!directive.empty()) {
        const std::string_view word = take_until(directive, ' ');
        const std::string_view without_end = word.substr(0, word.find('\r'));
        if (asks(without_end)) return without_end;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string_view> taken_for_mode(std::string_view word) {
    constexpr std::array<std::string_view, 15> programs{
        "sh",    "bash", "env",         "time",      "timeout",  "numactl", "nsys",  "uv",
        "conda", "srun", "singularity", "apptainer", "hostname", "true",    "python"};
    constexpr std::array<std::string_view, 4> endings{".py", ".sh", ".sbatch", ".slurm"};
    if (word.starts_with('-')) return "an option, and no mode";
    const std::string_view name = word.substr(0, word.find_last_not_of("0123456789.") + 1);
    const bool is_file =
        word.find('/') != std::string_view::npos ||
        std::any_of(endings.begin(), endings.end(),
                    [word](std::string_view ending) { return word.ends_with(ending); });
    const bool is_program = std::find(programs.begin(), programs.end(), name) != programs.end();
    if (!is_file && !is_program) return std::nullopt;
    return "a program, and no mode";
}

std::optional<Error> option_behind_program(std::span<const std::string> program) {
    for (std::size_t i = 1; i < program.size(); ++i) {
        if (!asks(program[i])) continue;
        return Error{excerpt(program[i]),
                     "it stands behind the program, where srun does not read it",
                     formatted("write it before {}", excerpt(program.front()))};
    }
    return std::nullopt;
}

std::optional<Error> late_directive(std::string_view script) {
    bool has_command = false;
    for (std::size_t number = 1; !script.empty(); ++number) {
        const std::string_view line = take_until(script, '\n');
        const std::string_view text = trimmed(line);
        has_command = has_command || (!text.empty() && text.front() != '#');
        if (!has_command || !line.starts_with("#SBATCH")) continue;
        if (const auto found = option_in(line)) {
            return Error{formatted("line {}: {}", number, excerpt(*found)),
                         "it stands below the first command, where sbatch does not read it",
                         "move the line up to the other #SBATCH lines"};
        }
    }
    return std::nullopt;
}

}  // namespace distgpu
