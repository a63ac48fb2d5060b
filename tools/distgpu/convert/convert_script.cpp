#include "convert/convert_script.h"

#include "base/format.h"
#include "base/values.h"
#include "convert/assignments.h"
#include "convert/blocks.h"
#include "convert/harmless.h"
#include "convert/launch.h"
#include "convert/launcher_options.h"
#include "convert/modes.h"
#include "convert/names.h"
#include "convert/shell_text.h"
#include "slurm/job_script.h"
#include "slurm/srun_cpus.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

StepOptions job_options(std::string_view script, std::vector<Note>& notes) {
    StepOptions options;
    for (const ShellCommand& directive : read_job_script(script).directives) {
        const std::size_t known = options.passed_over.size();
        // One that is not understood says nothing of the shape.
        static_cast<void>(add_options(directive.words, options));
        for (const Error& other : std::span(options.passed_over).subspan(known)) {
            notes.push_back({directive.line,
                             formatted("{}: {}; {}", other.object, other.problem, other.remedy)});
        }
    }
    return options;
}

// Numbers that variables are set to, once and outside of blocks.
std::map<std::string, std::string> numbers_in(std::string_view script,
                                              const std::vector<ShellCommand>& commands) {
    std::map<std::string, std::string> numbers;
    std::map<std::string, int> times;
    Blocks blocks(script);
    for (const ShellCommand& command : commands) {
        blocks.pass(command);
        for (const std::string& name : names_set(command.words)) ++times[name];
        for (const std::string& word : command.words) {
            const std::size_t equals = std::min(word.find('='), word.size() - 1);
            const std::string value = word.substr(equals + 1);
            if (!blocks.inside() && whole_number(value)) numbers[word.substr(0, equals)] = value;
        }
    }
    for (const auto& [name, count] : times) {
        if (count > 1) numbers.erase(name);
    }
    return numbers;
}

class ScriptConverter {
  public:
    explicit ScriptConverter(std::string_view script)
        : script_(script), commands_(shell_commands(script)), job_(job_options(script, notes_)) {}

    ScriptConversion convert() && {
        if (!job_.spec.empty()) return {{}, {{0, "it has #SBATCH --distgpu already"}}};
        convert_launches();
        if (!edits_.empty()) {
            find_assignments();
            remove_assignments();
            note_kept();
        }
        std::stable_sort(notes_.begin(), notes_.end(), [](const Note& left, const Note& right) {
            return left.line < right.line;
        });
        return {line_changes(script_, std::move(edits_)), std::move(notes_)};
    }

  private:
    // A command of its own that sets variables, none of which another command needs.
    struct Assignment {
        const ShellCommand* command;
        std::set<std::string> names;
        NameCounts own;  // names in its own text
        bool gone = false;
    };

    LaunchContext context() const {
        const bool sets_ranks =
            std::any_of(commands_.begin(), commands_.end(), [](const ShellCommand& command) {
                const auto names = names_set(command.words);
                return std::any_of(names.begin(), names.end(), is_of_ranks);
            });
        return {job_, named_framework(script_), sets_ranks, numbers_in(script_, commands_), false};
    }

    void convert_launches() {
        LaunchContext known = context();
        SrunCpus cpus;
        for (const ShellCommand& command : commands_) {
            cpus.pass(command);
            known.gives_cpus = cpus.of(command).has_value();
            auto launch = convert_launch(script_, command, known);
            if (launch) {
                notes_.insert(notes_.end(), launch->notes.begin(), launch->notes.end());
            } else {
                note_unclear(command, known);
            }
            add_spec(command);
            if (launch && !launch->edits.empty()) {
                edits_.insert(edits_.end(), launch->edits.begin(), launch->edits.end());
                specs_.insert(std::move(launch->spec));
                if (other_ == 0 && (!only_prints_in_values(script_, command) ||
                                    names_indirectly(script_, command))) {
                    other_ = command.line;
                }
            } else if (other_ == 0 && !reads_no_variables(script_, command)) {
                other_ = command.line;
            }
        }
    }

    // Of a step that has one already: its tasks may read what its mode does not decide.
    void add_spec(const ShellCommand& command) {
        constexpr std::string_view option = "--distgpu=";
        for (const std::string& word : command.words) {
            if (word.starts_with(option)) specs_.insert(word.substr(option.size()));
        }
    }

    void note_unclear(const ShellCommand& command, const LaunchContext& known) {
        const Words& words = command.words;
        const auto mentions = [&](std::string_view text) {
            return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
                return word.find(text) != std::string::npos;
            });
        };
        if (words.front() == "echo" || words.front() == "module" || mentions("--distgpu")) return;
        for (const std::string_view launcher : {"torchrun", "torch.distributed", "mpirun",
                                                "mpiexec", "horovodrun", "accelerate launch"}) {
            if (!mentions(launcher)) continue;
            notes_.push_back(
                {command.line, formatted("{} is not started in a way that is understood; the "
                                         "command stays as it is",
                                         launcher)});
            return;
        }
        if (known.sets_ranks && !reads_no_variables(script_, command) && mentions("srun")) {
            notes_.push_back(
                {command.line, formatted("what it starts is not known; if that trains, give srun "
                                         "--distgpu={}",
                                         known.framework)});
        }
    }

    // From its first line to its last, if nothing else stands there.
    bool has_lines_of_its_own(const ShellCommand& command) const {
        const std::size_t begin = command.spans.front().begin;
        const std::size_t end = command.spans.back().end;
        const std::size_t line = script_.rfind('\n', begin) + 1;  // npos + 1: the first
        if (script_.substr(line, begin - line).find_first_not_of(" \t") != std::string_view::npos) {
            return false;
        }
        const std::string_view rest = script_.substr(end, script_.find('\n', end) - end);
        const std::size_t next = rest.find_first_not_of(" \t\r;");
        return next == std::string_view::npos || rest[next] == '#';
    }

    TextEdit removal(const ShellCommand& command) const {
        const std::size_t end = command.spans.back().end;
        return {{command.spans.front().begin, std::min(script_.find('\n', end), script_.size())},
                ""};
    }

    // Those that may go: variables of the ranks that the modes decide on, and what is of use to
    // other commands of the script only.
    void find_assignments() {
        const NameCounts all = names_in(script_);
        const bool export_all = std::any_of(commands_.begin(), commands_.end(), exports_all);
        Blocks blocks(script_);
        bool joined = false;  // to the command before
        for (const ShellCommand& command : commands_) {
            blocks.pass(command);
            const bool is_alone = !blocks.inside() && !joined && has_lines_of_its_own(command);
            joined = joins_next(script_, command);
            const auto names = names_set(command.words);
            Assignment each{&command, {names.begin(), names.end()}, {}};
            if (!is_alone || each.names.empty()) continue;
            // What else its value does, such as writing a file, would be lost.
            if (!only_prints_in_values(script_, command)) continue;
            const std::size_t begin = command.spans.front().begin;
            each.own = names_in(script_.substr(begin, command.spans.back().end - begin));
            const bool exports = export_all || command.words.front() == "export";
            // What stays may read what is exported.
            if (exports && other_ != 0) continue;
            const bool may_go =
                std::all_of(each.names.begin(), each.names.end(), [&](const std::string& name) {
                    if (is_of_ranks(name)) return is_decided(name);
                    return !exports && count_of(all, name) > count_of(each.own, name);
                });
            if (may_go) assignments_.push_back(std::move(each));
        }
    }

    bool is_decided(const std::string& name) const {
        return std::all_of(specs_.begin(), specs_.end(),
                           [&](const std::string& spec) { return decides_variable(spec, name); });
    }

    // What is left of each name, other than where it is set.
    NameCounts uses() const {
        NameCounts left = names_in(changed(script_, line_changes(script_, edits_)));
        for (const Assignment& each : assignments_) {
            if (each.gone) continue;
            for (const std::string& name : each.names) {
                std::size_t& count = left[name];
                count -= std::min(count, count_of(each.own, name));
            }
        }
        return left;
    }

    // Once nothing that is left needs them; what fed only them goes next.
    void remove_assignments() {
        constexpr int longest_chain = 50;
        for (int round = 0; round < longest_chain; ++round) {
            const NameCounts left = uses();
            const std::size_t before = edits_.size();
            for (Assignment& each : assignments_) {
                const bool is_needed =
                    std::any_of(each.names.begin(), each.names.end(),
                                [&](const std::string& name) { return count_of(left, name) > 0; });
                if (each.gone || is_needed) continue;
                edits_.push_back(removal(*each.command));
                each.gone = true;
            }
            if (edits_.size() == before) return;
        }
    }

    void note_kept() {
        const NameCounts left = uses();
        std::set<std::size_t> gone;
        for (const Assignment& each : assignments_) {
            if (each.gone) gone.insert(each.command->line);
        }
        for (const ShellCommand& command : commands_) {
            if (gone.contains(command.line)) continue;
            for (const std::string& name : names_set(command.words)) {
                if (!is_of_ranks(name)) continue;
                notes_.push_back({command.line, why_kept(name, command, left)});
            }
        }
    }

    std::string why_kept(const std::string& name, const ShellCommand& command,
                         const NameCounts& left) const {
        const auto other = std::find_if(specs_.begin(), specs_.end(), [&](const std::string& spec) {
            return !decides_variable(spec, name);
        });
        if (other != specs_.end()) {
            return formatted("{} stays; --distgpu={} does not set it", name, *other);
        }
        if (!only_prints_in_values(script_, command)) {
            return formatted(
                "{} stays, because the command that computes it may do more than print; distgpu "
                "sets it in each task",
                name);
        }
        if (other_ != 0) {
            return formatted("{} stays, because what line {} starts may read it", name, other_);
        }
        if (count_of(left, name) == 0) {
            return formatted("{} stays, because its command is part of another", name);
        }
        return formatted("{} stays, because the script still uses it; distgpu sets it in each task",
                         name);
    }

    std::string_view script_;
    std::vector<ShellCommand> commands_;
    std::vector<Note> notes_;
    StepOptions job_;
    std::vector<TextEdit> edits_;
    std::set<std::string> specs_;          // of the steps
    std::size_t other_ = 0;                // the line of one that may read exports; 0: none
    std::vector<Assignment> assignments_;  // that may go
};

}  // namespace

ScriptConversion convert_script(std::string_view script) {
    return ScriptConverter(script).convert();
}

}  // namespace distgpu
