// See convert_script.h.
#include "convert/convert_script.h"

#include "base/format.h"
#include "convert/assignments.h"
#include "convert/launch.h"
#include "script/job_script.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

StepOptions job_options(std::string_view script) {
    StepOptions options;
    for (const ShellCommand& directive : read_job_script(script).directives) {
        // One that is not understood says nothing of the shape.
        static_cast<void>(add_options(directive.words, options));
    }
    return options;
}

class ScriptConverter {
  public:
    explicit ScriptConverter(std::string_view script)
        : script_(script), commands_(shell_commands(script)) {}

    ScriptConversion convert() && {
        convert_launches();
        if (!edits_.empty()) {
            remove_assignments();
            note_kept();
        }
        std::stable_sort(notes_.begin(), notes_.end(), [](const Note& left, const Note& right) {
            return left.line < right.line;
        });
        return {line_changes(script_, std::move(edits_)), std::move(notes_)};
    }

  private:
    LaunchContext context() const {
        LaunchContext context{job_options(script_), {}, false};
        const std::string_view framework = named_framework(script_);
        context.horovod = framework == "horovod";
        const bool sets_ranks =
            std::any_of(commands_.begin(), commands_.end(), [](const ShellCommand& command) {
                const auto names = names_set(command.words);
                return std::any_of(names.begin(), names.end(), is_of_ranks);
            });
        // Within bash -c they may be set in each task.
        if (sets_ranks || script_.find("RANK=$SLURM_PROCID") != std::string_view::npos ||
            script_.find("RANK=\\$SLURM_PROCID") != std::string_view::npos) {
            context.framework = framework;
        }
        return context;
    }

    void convert_launches() {
        const LaunchContext known = context();
        for (const ShellCommand& command : commands_) {
            const auto launch = convert_launch(script_, command, known);
            if (!launch) {
                note_unclear(command);
                continue;
            }
            edits_.insert(edits_.end(), launch->edits.begin(), launch->edits.end());
            notes_.insert(notes_.end(), launch->notes.begin(), launch->notes.end());
        }
    }

    void note_unclear(const ShellCommand& command) {
        for (const std::string_view launcher : {"torchrun", "mpirun", "mpiexec", "horovodrun"}) {
            const auto names_it = [&](const std::string& word) {
                return word.find(launcher) != std::string::npos;
            };
            const Words& words = command.words;
            if (words.front() == "echo" || words.front() == "module" ||
                std::none_of(words.begin(), words.end(), names_it)) {
                continue;
            }
            notes_.push_back(
                {command.line, formatted("{} is not started in a way that is understood; the "
                                         "command stays as it is",
                                         launcher)});
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

    // Once nothing that is left needs them; what fed only them goes next.
    void remove_assignments() {
        for (std::size_t before = 0; before != edits_.size();) {
            before = edits_.size();
            const std::string left = changed(script_, line_changes(script_, edits_));
            std::size_t depth = 0;
            for (const ShellCommand& command : commands_) {
                depth = depth_after(command, depth);
                // An if without a command in it is a syntax error.
                if (depth > 0 || !is_candidate(command) || is_needed(command, left)) continue;
                edits_.push_back(removal(command));
                gone_.insert(command.line);
            }
        }
    }

    // How many of if, for and the like are open behind the command.
    static std::size_t depth_after(const ShellCommand& command, std::size_t depth) {
        for (const std::string& word : command.words) {
            if (is_one_of(word, {"if", "for", "while", "until", "case", "{"})) {
                ++depth;
            } else if (is_one_of(word, {"fi", "done", "esac", "}"})) {
                depth -= std::min<std::size_t>(depth, 1);
            } else if (!is_one_of(word, {"then", "else", "elif", "do", "!"})) {
                break;
            }
        }
        return depth + (command.words.front().ends_with("()") ? 1 : 0);
    }

    static bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
        return std::find(words.begin(), words.end(), word) != words.end();
    }

    // The program may read what is exported.
    bool is_candidate(const ShellCommand& command) const {
        if (gone_.contains(command.line) || !has_lines_of_its_own(command)) return false;
        if (sets_only_ranks(command.words)) return true;
        const auto names = names_set(command.words);
        return !names.empty() && command.words.front() != "export" &&
               std::all_of(names.begin(), names.end(),
                           [&](const std::string& name) { return mentions(script_, name); });
    }

    // A variable that was of use before and is not now fed what is gone.
    static bool is_needed(const ShellCommand& command, std::string_view left) {
        const auto names = names_set(command.words);
        return std::any_of(names.begin(), names.end(),
                           [&](const std::string& name) { return mentions(left, name); });
    }

    void note_kept() {
        const std::string left = changed(script_, line_changes(script_, edits_));
        for (const ShellCommand& command : commands_) {
            if (gone_.contains(command.line)) continue;
            for (const std::string& name : names_set(command.words)) {
                if (!is_of_ranks(name) || !mentions(left, name)) continue;
                notes_.push_back({command.line, formatted("{} stays, because the script still uses "
                                                          "it; distgpu sets it in each task",
                                                          name)});
            }
        }
    }

    std::string_view script_;
    std::vector<ShellCommand> commands_;
    std::vector<TextEdit> edits_;
    std::vector<Note> notes_;
    std::set<std::size_t> gone_;  // lines of the assignments that are removed
};

}  // namespace

ScriptConversion convert_script(std::string_view script) {
    return ScriptConverter(script).convert();
}

}  // namespace distgpu
