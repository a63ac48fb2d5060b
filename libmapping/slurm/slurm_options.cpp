#include "slurm/slurm_options.h"

#include "base/values.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace distgpu {
namespace {

enum class Takes { no_value, value_after_equals, value };

enum class Commands { both, srun, sbatch };

struct Group {
    Takes takes;
    Commands commands;
    std::string_view options;  // each with its short letter, if it has one
};

// Slurm's options from slurm_opt.c, 22.05 to 26.05, and pyxis's from its args.c. Where releases of
// Slurm differ, as for --pty, an optional value covers them all.
constexpr std::array groups{
    Group{Takes::value, Commands::both,
          "account:A acctg-freq autocomplete bb bbf begin:b chdir:D cluster cluster-constraint "
          "clusters:M comment constraint:C container container-id container-type context "
          "core-spec:S cores-per-socket cpu-freq cpus-per-gpu cpus-per-task:c deadline delay-boot "
          "dependency:d distribution:m error:e exclude:x export extra extra-node-info:B gid "
          "gpu-bind gpu-freq gpus:G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags "
          "hint input:i job-name:J licenses:L mail-type mail-user mcs-label mem mem-bind "
          "mem-per-cpu mem-per-gpu mem-update mincpus network nodefile:F nodelist:w nodes:N "
          "ntasks:n ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket "
          "ntasks-per-tres open-mode output:o partition:p power prefer priority profile qos:q "
          "reservation resources segment signal sockets-per-node switches tasks-per-node "
          "thread-spec threads-per-core time:t time-min tmp tres-bind tres-per-task uid wckey "
          "distgpu container-env container-image container-mounts container-name container-save "
          "container-unshare container-workdir"},
    Group{Takes::value, Commands::srun,
          "accel-bind bcast-exclude cpu-bind cpu_bind epilog het-group ignore-signals jobid mpi "
          "msg-timeout pack-group prolog relative:r slurmd-debug task-epilog task-prolog threads:T "
          "treewidth wait:W"},
    Group{Takes::value, Commands::sbatch,
          "array:a batch export-file kill-on-invalid-dep wait-all-nodes wrap"},
    Group{Takes::value_after_equals, Commands::both,
          "exclusive nice no-kill:k oom-kill-step propagate resv-ports"},
    Group{Takes::value_after_equals, Commands::srun,
          "bcast compress external-launcher immediate:I kill-on-bad-exit:K overlap pty send-libs "
          "x11"},
    Group{Takes::value_after_equals, Commands::sbatch, "get-user-env requeue"},
    Group{Takes::no_value, Commands::both,
          "consolidate-segments contiguous help:h hold:H overcommit:O oversubscribe:s parsable "
          "quiet:Q reboot spread-job spread-segments stepmgr test-only usage use-min-nodes "
          "verbose:v version:V container-entrypoint container-entrypoint-log container-mount-home "
          "container-readonly container-remap-root container-writable no-container-entrypoint "
          "no-container-mount-home no-container-remap-root"},
    Group{Takes::no_value, Commands::srun,
          "async debugger-test disable-status:X exact interactive label:l multi-prog no-allocate:Z "
          "preserve-env:E quit-on-interrupt unbuffered:u wait-for-children whole"},
    Group{Takes::no_value, Commands::sbatch, "external ignore-pbs no-requeue wait:W"},
};

std::string_view usual_name(std::string_view name) {
    if (name == "cpu_bind") return "cpu-bind";
    if (name == "pack-group") return "het-group";
    return name == "tasks-per-node" ? "ntasks-per-node" : name;
}

struct KnownOption {
    std::string_view name;
    Takes takes;
};

bool has_options_of(const Group& group, SlurmCommand command) {
    const Commands own = command == SlurmCommand::srun ? Commands::srun : Commands::sbatch;
    return group.commands == Commands::both || group.commands == own;
}

// The option whose name begins at `at` in the group's text.
KnownOption option_at(const Group& group, std::size_t at) {
    std::string_view rest = group.options.substr(at);
    std::string_view word = cut_until(rest, ' ');
    return {cut_until(word, ':'), group.takes};
}

// Searches the texts, because splitting them takes longer than finding the few options of a line.
std::vector<KnownOption> options_with_prefix(SlurmCommand command, std::string_view prefix) {
    std::vector<KnownOption> found;
    for (const Group& group : groups) {
        if (!has_options_of(group, command)) continue;
        const std::string_view text = group.options;
        for (std::size_t at = text.find(prefix); at < text.size(); at = text.find(prefix, at + 1)) {
            if (at > 0 && text[at - 1] != ' ') continue;
            const KnownOption option = option_at(group, at);
            if (option.name.starts_with(prefix)) found.push_back(option);
        }
    }
    return found;
}

std::optional<KnownOption> option_with_letter(SlurmCommand command, char letter) {
    const std::array end_of_name{':', letter};
    for (const Group& group : groups) {
        if (!has_options_of(group, command)) continue;
        const std::size_t end = group.options.find({end_of_name.data(), end_of_name.size()});
        if (end == std::string_view::npos) continue;
        return option_at(group, group.options.rfind(' ', end) + 1);
    }
    return std::nullopt;
}

class Parser {
  public:
    Parser(std::span<const std::string> words, SlurmCommand command)
        : words_(words), command_(command) {}

    SlurmLine parse() && {
        while (at_ < words_.size() && is_option(words_[at_])) {
            const std::string_view word = words_[at_++];
            if (word == "--") break;
            if (word[1] == '-') {
                parse_name(word);
            } else {
                parse_letters(word);
            }
        }
        return {{std::move(options_)}, std::min(at_, words_.size())};
    }

  private:
    using Kind = SlurmOption::Kind;

    // "-" alone is a program's name.
    static bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

    void add_option(std::string_view word, std::string_view name, std::string_view value,
                    Kind kind = Kind::known) {
        options_.push_back(
            {std::string(usual_name(name)), std::string(value), std::string(word), kind});
    }

    void add_with_next(std::string_view word, std::string_view name) {
        if (at_ >= words_.size()) return add_option(word, name, "", Kind::lacks_value);
        add_option(word, name, words_[at_++]);
    }

    void add_unknown(std::string_view word, std::string_view name) {
        const bool has_value = at_ < words_.size() && !is_option(words_[at_]);
        add_option(word, name, has_value ? std::string_view(words_[at_++]) : "", Kind::unknown);
    }

    // The option of this name, or the only one that begins with it. If several do, the one whose
    // name begins all the others wins, as those are pyxis's or of a later release.
    std::optional<KnownOption> find(std::string_view name) const {
        const auto size = [](const KnownOption& option) { return option.name.size(); };
        const std::vector<KnownOption> found = options_with_prefix(command_, name);
        const auto shortest = std::ranges::min_element(found, {}, size);
        if (shortest == found.end()) return std::nullopt;
        const auto is_another = [&](const KnownOption& option) {
            return !option.name.starts_with(shortest->name) &&
                   usual_name(option.name) != usual_name(shortest->name);
        };
        const bool is_ambiguous = shortest->name != name && std::ranges::any_of(found, is_another);
        return is_ambiguous ? std::nullopt : std::optional(*shortest);
    }

    void parse_name(std::string_view word) {
        std::string_view value = word.substr(2);
        const bool has_equals = value.find('=') != std::string_view::npos;
        const std::string_view name = cut_until(value, '=');
        const auto option = find(name);
        if (!option && !has_equals) return add_unknown(word, name);
        if (!option) return add_option(word, name, value, Kind::unknown);
        if (!has_equals && option->takes == Takes::value) return add_with_next(word, option->name);
        add_option(word, option->name, value);
    }

    // Letters without a value may precede others: "-luN2".
    void parse_letters(std::string_view word) {
        for (std::size_t i = 1; i < word.size(); ++i) {
            const auto option = option_with_letter(command_, word[i]);
            const std::string_view rest = word.substr(i + 1);
            if (!option) return add_option(word, word.substr(i, 1), rest, Kind::unknown);
            if (option->takes == Takes::no_value) {
                add_option(word, option->name, "");
                continue;
            }
            if (rest.empty() && option->takes == Takes::value) {
                return add_with_next(word, option->name);
            }
            return add_option(word, option->name, rest);
        }
    }

    std::span<const std::string> words_;
    SlurmCommand command_;
    std::vector<SlurmOption> options_;
    std::size_t at_ = 1;
};

// Whether a value of --cpu-bind chooses a binding: q[uiet] and v[erbose] only choose whether srun
// reports it (srun(1)).
bool chooses_binding(std::string_view value) {
    while (!value.empty()) {
        const std::string_view word = cut_until(value, ',');
        if (word != "q" && word != "quiet" && word != "v" && word != "verbose") return true;
    }
    return false;
}

bool sets(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        std::string_view item = cut_until(list, ',');
        const bool has_value = item.find('=') != std::string_view::npos;
        if (has_value && cut_until(item, '=') == name) return true;
    }
    return false;
}

}  // namespace

bool SlurmOption::may_take_next_word() const {
    return kind == Kind::unknown && word.find('=') == std::string::npos;
}

bool SlurmLine::has_certain_program() const {
    return std::ranges::none_of(options.list, &SlurmOption::may_take_next_word);
}

std::optional<std::string_view> SlurmOptions::value(std::string_view name) const {
    const auto last = std::find_if(list.rbegin(), list.rend(), [name](const SlurmOption& option) {
        return option.name == name && option.kind == SlurmOption::Kind::known;
    });
    return last == list.rend() ? std::nullopt : std::optional<std::string_view>(last->value);
}

SlurmLine parse_slurm_line(std::span<const std::string> words, SlurmCommand command) {
    return Parser(words, command).parse();
}

std::optional<std::uint32_t> gpu_count(std::string_view value) {
    if (value.find(',') != std::string_view::npos) return std::nullopt;
    return whole_number(value.substr(value.rfind(':') + 1));
}

std::optional<std::string_view> nearest_slurm_option(std::string_view name, SlurmCommand command) {
    // Misspelt names usually have the right first letter. Without this condition, other plugins'
    // options would often be similar to one of Slurm's many options.
    std::vector<std::string_view> names;
    for (const KnownOption& option : options_with_prefix(command, name.substr(0, 1))) {
        names.push_back(option.name);
    }
    return nearest_word(name, names);
}

SlurmOptions srun_options(std::span<const std::string> command_line,
                          std::size_t program_arguments) {
    // Drops the program's words except its name, which ends the options.
    const std::size_t dropped = program_arguments == 0 ? 0 : program_arguments - 1;
    std::span rest =
        command_line.first(command_line.size() - std::min(command_line.size(), dropped));
    SlurmOptions all;
    // Each further component of a heterogeneous step begins with ":" in place of "srun".
    while (!rest.empty()) {
        const auto next = std::find(rest.begin() + 1, rest.end(), ":");
        const auto component = rest.first(static_cast<std::size_t>(next - rest.begin()));
        SlurmOptions own = parse_slurm_line(component, SlurmCommand::srun).options;
        std::ranges::move(own.list, std::back_inserter(all.list));
        rest = rest.subspan(component.size());
    }
    return all;
}

// Any --cpu-bind that chooses a binding counts, although srun uses only the last.
bool chooses_cpus(const SlurmOptions& options, std::string_view variable) {
    return chooses_binding(variable) ||
           std::ranges::any_of(options.list, [](const SlurmOption& option) {
               return option.name == "cpu-bind" && chooses_binding(option.value);
           });
}

// srun(1): a line has tasks, a program and arguments, separated by blanks; '#' begins a comment.
std::vector<std::vector<std::string>> programs_in(std::string_view text) {
    std::vector<std::vector<std::string>> programs;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        const auto words = words_in(line.substr(0, line.find('#')), " ");
        if (words.size() > 1) programs.emplace_back(words.begin() + 1, words.end());
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

bool passes_full_environment(const SlurmOptions& options, std::string_view variable) {
    return options.value("export").value_or(variable.empty() ? "ALL" : variable) == "ALL";
}

bool export_sets(const SlurmOptions& options, std::string_view variable, std::string_view name) {
    return sets(options.value("export").value_or(variable), name);
}

std::optional<std::uint32_t> requested_gpus(const SlurmOptions& options) {
    const auto text = options.value("gpus");
    return text ? gpu_count(*text) : std::nullopt;
}

bool is_mpi_daemon(std::span<const std::string> arguments) {
    // In this order: Open MPI 4; 5 and PRRTE; MPICH and Intel MPI; Intel MPI; MPICH 1.x.
    constexpr std::string_view daemons = "orted prted hydra_pmi_proxy hydra_bstrap_proxy pmi_proxy";
    return !arguments.empty() && has_word(daemons, file_name(arguments.front()));
}

bool starts_mpi_daemon(std::span<const std::string> command_line) {
    return std::any_of(command_line.begin(), command_line.end(), [](const std::string& word) {
        return is_mpi_daemon({&word, 1});
    });
}

}  // namespace distgpu
