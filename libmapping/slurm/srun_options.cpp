#include "slurm/srun_options.h"

#include "base/take_until.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// srun(1): q[uiet] and v[erbose] say whether the binding is reported, the rest what it is.
bool chooses(std::string_view value) {
    while (!value.empty()) {
        const std::string_view word = take_until(value, ',');
        if (word != "q" && word != "quiet" && word != "v" && word != "verbose") return true;
    }
    return false;
}

bool sets(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        std::string_view item = take_until(list, ',');
        const bool has_value = item.find('=') != std::string_view::npos;
        if (has_value && take_until(item, '=') == name) return true;
    }
    return false;
}

}  // namespace

SlurmOptions srun_options(std::span<const std::string> command_line,
                          std::size_t program_arguments) {
    // One word of the program's may stay: its name is no option.
    const std::size_t behind_options = program_arguments == 0 ? 0 : program_arguments - 1;
    std::span rest =
        command_line.first(command_line.size() - std::min(command_line.size(), behind_options));
    SlurmOptions all;
    // A component of a heterogeneous step begins at ":", as the first one at "srun".
    while (!rest.empty()) {
        const auto next = std::find(rest.begin() + 1, rest.end(), ":");
        const auto component = rest.first(static_cast<std::size_t>(next - rest.begin()));
        SlurmOptions own = parse_slurm_line(component, SlurmCommand::srun).options;
        std::ranges::move(own.list, std::back_inserter(all.list));
        rest = rest.subspan(component.size());
    }
    return all;
}

// One of several that chooses is a choice, although srun takes the last.
bool chooses_cpus(const SlurmOptions& options, std::string_view variable) {
    return chooses(variable) || std::ranges::any_of(options.list, [](const SlurmOption& option) {
               return option.name == "cpu-bind" && chooses(option.value);
           });
}

// srun(1): a line has the tasks, the program and its arguments at blanks; '#' begins a comment.
std::vector<std::vector<std::string>> programs_in(std::string_view text) {
    std::vector<std::vector<std::string>> programs;
    while (!text.empty()) {
        std::string_view line = take_until(text, '\n');
        line = line.substr(0, line.find('#'));
        std::vector<std::string> words;
        while (!line.empty()) {
            const std::string_view word = take_until(line, ' ');
            if (!word.empty()) words.emplace_back(word);
        }
        if (words.size() < 2) continue;
        words.erase(words.begin());
        programs.push_back(std::move(words));
    }
    return programs;
}

ChosenSize chosen_size(const SlurmOptions& options) {
    const auto has_any = [&](auto... names) { return (options.has(names) || ...); };
    return {
        .nodes =
            has_any("nodes", "nodelist", "nodefile", "exclude", "relative", "het-group", "jobid"),
        .tasks = has_any("ntasks", "ntasks-per-node", "ntasks-per-core", "ntasks-per-gpu",
                         "ntasks-per-socket", "ntasks-per-tres"),
        .gpus = has_any("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres",
                        "tres-per-task"),
    };
}

bool hands_on_environment(const SlurmOptions& options, std::string_view variable) {
    return options.value("export").value_or(variable.empty() ? "ALL" : variable) == "ALL";
}

bool export_sets(const SlurmOptions& options, std::string_view variable, std::string_view name) {
    return sets(options.value("export").value_or(variable), name);
}

std::optional<std::uint32_t> asked_gpus(const SlurmOptions& options) {
    const auto text = options.value("gpus");
    return text ? gpu_count(*text) : std::nullopt;
}

bool is_foreign_launcher(std::span<const std::string> arguments) {
    static constexpr std::array<std::string_view, 5> daemons{
        "orted",               // Open MPI 4
        "prted",               // Open MPI 5, PRRTE
        "hydra_pmi_proxy",     // MPICH, Intel MPI
        "hydra_bstrap_proxy",  // Intel MPI
        "pmi_proxy",           // MPICH 1.x
    };
    if (arguments.empty()) return false;
    const std::string_view path = arguments.front();
    const std::string_view program = path.substr(path.rfind('/') + 1);
    return std::find(daemons.begin(), daemons.end(), program) != daemons.end();
}

bool starts_foreign_launcher(std::span<const std::string> command_line) {
    return std::any_of(command_line.begin(), command_line.end(), [](const std::string& word) {
        return is_foreign_launcher({&word, 1});
    });
}

}  // namespace distgpu
