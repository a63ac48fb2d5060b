// See srun_options.h.
#include "srun_options.h"

#include "base/take_until.h"
#include "node/gpu_ownership.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace distgpu {
namespace {

// srun(1): q[uiet] and v[erbose] say whether the binding is reported, the rest what it is.
bool chooses(std::string_view value) {
    while (!value.empty()) {
        const std::string_view word = value.substr(0, value.find(','));
        value.remove_prefix(std::min(value.size(), word.size() + 1));
        if (word != "q" && word != "quiet" && word != "v" && word != "verbose") return true;
    }
    return false;
}

std::span<const std::string> without_program(std::span<const std::string> arguments,
                                             std::size_t program_arguments) {
    return arguments.first(arguments.size() - std::min(arguments.size(), program_arguments));
}

// getopt_long takes every beginning that no other option shares: from `shortest` on.
bool is_option(std::string_view argument, std::string_view option, std::string_view shortest) {
    const std::string_view name = argument.substr(0, argument.find('='));
    return name.size() >= shortest.size() && option.substr(0, name.size()) == name;
}

// --cpu-freq is the other --cpu- option, and --cpu_bind an older name of this one (slurm_opt.c,
// 22.05).
bool is_cpu_bind(std::string_view argument) {
    return is_option(argument, "--cpu-bind", "--cpu-b") ||
           is_option(argument, "--cpu_bind", "--cpu_");
}

// The next option is --contiguous.
bool is_container(std::string_view argument) {
    return is_option(argument, "--container", "--conta");
}

// An option that says something of the step's size, by the beginning that it shares with no other
// (slurm_opt.c, 22.05), or by its letter.
struct SizeOption {
    std::string_view beginning;
    char letter;
    bool ChosenSize::*chosen;
};
constexpr std::array size_options{
    SizeOption{"--nodes", 'N', &ChosenSize::nodes},
    SizeOption{"--nodel", 'w', &ChosenSize::nodes},
    SizeOption{"--nodef", 'F', &ChosenSize::nodes},
    SizeOption{"--exclud", 'x', &ChosenSize::nodes},
    SizeOption{"--rel", 'r', &ChosenSize::nodes},
    SizeOption{"--het", '\0', &ChosenSize::nodes},
    SizeOption{"--jobi", '\0', &ChosenSize::nodes},
    SizeOption{"--ntasks", 'n', &ChosenSize::tasks},
    SizeOption{"--tasks", '\0', &ChosenSize::tasks},
    SizeOption{"--gpus", 'G', &ChosenSize::gpus},
    SizeOption{"--gres", '\0', &ChosenSize::gpus},
    SizeOption{"--tres-p", '\0', &ChosenSize::gpus},
};

// The letter of a short option, behind those in the same word that take no value.
char letter_of(std::string_view argument) {
    constexpr std::string_view without_value = "-bEhHjklOQsuvVXZ";
    if (!argument.starts_with('-') || argument.starts_with("--")) return '\0';
    const std::size_t at = argument.find_first_not_of(without_value);
    return at == std::string_view::npos ? '\0' : argument[at];
}

// "-G6", "-G 6"; no beginning of --gpus is short for it, because others share it.
bool is_gpus(std::string_view argument) {
    return argument.substr(0, 2) == "-G" || argument.substr(0, argument.find('=')) == "--gpus";
}

}  // namespace

bool chooses_cpus(std::span<const std::string> arguments, std::size_t program_arguments,
                  std::string_view variable) {
    if (chooses(variable)) return true;
    const auto own = without_program(arguments, program_arguments);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string_view argument = own[i];
        if (!is_cpu_bind(argument)) continue;
        const std::size_t equals = argument.find('=');
        if (equals != std::string_view::npos) {
            if (chooses(argument.substr(equals + 1))) return true;
        } else if (i + 1 < own.size() && chooses(own[i + 1])) {
            return true;
        }
    }
    return false;
}

bool names_container(std::span<const std::string> arguments, std::size_t program_arguments,
                     std::string_view variable) {
    return !variable.empty() ||
           std::ranges::any_of(without_program(arguments, program_arguments), is_container);
}

bool has_programs_in_file(std::span<const std::string> arguments, std::size_t program_arguments) {
    return std::ranges::any_of(
        without_program(arguments, program_arguments),
        [](std::string_view argument) { return is_option(argument, "--multi-prog", "--mu"); });
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

ChosenSize chosen_size(std::span<const std::string> arguments, std::size_t program_arguments) {
    ChosenSize size;
    for (const std::string_view argument : without_program(arguments, program_arguments)) {
        const char letter = letter_of(argument);
        for (const SizeOption& option : size_options) {
            const bool by_letter = letter != '\0' && letter == option.letter;
            if (by_letter || argument.starts_with(option.beginning)) size.*option.chosen = true;
        }
    }
    return size;
}

bool gives_ntasks(std::span<const std::string> arguments, std::size_t program_arguments) {
    return std::ranges::any_of(without_program(arguments, program_arguments),
                               [](std::string_view argument) {
                                   return letter_of(argument) == 'n' ||
                                          argument.substr(0, argument.find('=')) == "--ntasks";
                               });
}

bool asks_for_distgpu(std::span<const std::string> arguments, std::size_t program_arguments) {
    return std::ranges::any_of(
        without_program(arguments, program_arguments),
        [](std::string_view argument) { return is_option(argument, "--distgpu", "--distg"); });
}

bool hands_on_environment(std::span<const std::string> arguments, std::size_t program_arguments,
                          std::string_view variable) {
    if (!variable.empty() && variable != "ALL") return false;
    const auto own = without_program(arguments, program_arguments);
    return std::none_of(own.begin(), own.end(), [](std::string_view argument) {
        return argument.starts_with("--export") && argument != "--export=ALL";
    });
}

bool export_sets(std::span<const std::string> arguments, std::size_t program_arguments,
                 std::string_view variable, std::string_view name) {
    const std::string assignment = std::string(name) + '=';
    const auto sets = [&](std::string_view list) {
        for (std::size_t at = list.find(assignment); at != std::string_view::npos;
             at = list.find(assignment, at + 1)) {
            if (at == 0 || list[at - 1] == ',') return true;
        }
        return false;
    };
    if (sets(variable)) return true;
    const auto own = without_program(arguments, program_arguments);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string_view argument = own[i];
        if (!is_option(argument, "--export", "--expo")) continue;
        const std::size_t equals = argument.find('=');
        if (equals != std::string_view::npos) {
            if (sets(argument.substr(equals + 1))) return true;
        } else if (i + 1 < own.size() && sets(own[i + 1])) {
            return true;
        }
    }
    return false;
}

std::optional<std::uint32_t> asked_gpus(std::span<const std::string> arguments,
                                        std::size_t program_arguments) {
    const auto own = without_program(arguments, program_arguments);
    // The last of several holds.
    const auto last = std::find_if(own.rbegin(), own.rend(), is_gpus);
    if (last == own.rend()) return std::nullopt;
    std::string_view value = *last;
    value.remove_prefix(value.substr(0, 2) == "-G" ? 2 : std::min(value.find('='), value.size()));
    if (value.empty()) value = last == own.rbegin() ? std::string_view() : *std::prev(last);
    if (value.substr(0, 1) == "=") value.remove_prefix(1);
    return gpu_count(value);
}

}  // namespace distgpu
