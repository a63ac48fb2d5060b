#include "slurm/batch_script.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <unistd.h>

namespace distgpu {
namespace {

// Words as a shell would have them, roughly: quotes, brackets and separators end one.
constexpr std::string_view separators = " \t\r;&|()<>{}\"'`=";

bool is_path(std::string_view word) {
    return word.find('/') != std::string_view::npos;
}

// Another script, or a program that runs what it finds in a file of its own.
bool may_run_others(std::string_view name) {
    return has_word("sh bash zsh ksh csh tcsh snakemake make", name) || name.ends_with(".sh") ||
           name.ends_with(".bash") || name.ends_with(".sbatch") || name.ends_with(".slurm");
}

bool starts_steps(std::string_view name) {
    return has_word("srun mpirun mpiexec mpiexec.hydra orterun prun prterun ibrun sbatch distgpu",
                    name);
}

// What sets up an environment: it is sourced in most scripts, and starts no steps.
bool is_environment(std::string_view path) {
    return has_word(
               "activate conda.sh mamba.sh .bashrc bashrc profile .bash_profile .profile "
               "modules.sh setvars.sh spack.sh setup-env.sh",
               file_name(path)) ||
           path.find("/init/") != std::string_view::npos;
}

// A command that only the job knows ("$@"), or an executable of the user's own, unless it shows to
// be Python.
bool is_unknown_command(std::string_view line) {
    if (line.starts_with("exec ")) line.remove_prefix(5);
    if (line.starts_with("eval ")) return true;
    if (line.starts_with("\"$")) line.remove_prefix(1);
    if (!line.starts_with('$') && !line.starts_with("./") && !line.starts_with("../")) return false;
    const std::string_view name = file_name(line.substr(0, line.find_first_of(" \t\r;&|\"")));
    return !name.starts_with("python") && !name.ends_with(".py");
}

std::string_view without_comment(std::string_view line) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t\r")));
    return line.starts_with('#') ? std::string_view() : line.substr(0, line.find(" #"));
}

// Names a program that starts steps, in whatever language.
bool names_launcher(std::string_view text) {
    while (!text.empty()) {
        for (const std::string_view word :
             words_in(without_comment(take_until(text, '\n')), separators)) {
            if (starts_steps(file_name(word))) return true;
        }
    }
    return false;
}

bool is_script(std::string_view text) {
    return text.starts_with("#!");
}

// What a script names, by its path or as a command of one of the folders of `path`; nothing: it
// cannot be read.
std::optional<std::string> read_named(std::string_view name, std::string_view path) {
    std::string file(is_path(name) || name.ends_with(".py") ? name : "");
    while (file.empty() && !path.empty()) {
        const std::string_view folder = take_until(path, ':');
        std::string there = formatted("{}/{}", folder, name);
        if (!folder.empty() && access(there.c_str(), X_OK) == 0) file = std::move(there);
    }
    auto text = read_regular_file(file);
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

// `before`: the word before it, empty for the first. `looks`: how many more files may be looked
// into.
bool word_may_start_step(std::string_view before, std::string_view word, std::string_view path,
                         int& looks) {
    const auto text_of = [&](std::string_view name) {
        return --looks < 0 ? std::nullopt : read_named(name, path);
    };
    if (starts_steps(file_name(word))) return true;
    if (before == "source" || before == ".") {
        if (is_environment(word)) return false;
        const auto text = text_of(is_path(word) ? std::string(word) : "./" + std::string(word));
        // What cannot be read may start steps.
        return !text || names_launcher(*text);
    }
    if (may_run_others(file_name(word))) return true;
    if (!before.empty() && !is_path(word) && !word.ends_with(".py")) return false;
    const auto text = text_of(word);
    const bool is_read = text && (is_script(*text) || word.ends_with(".py"));
    return is_read && names_launcher(*text);
}

bool may_start_step(std::string_view line, std::string_view path, int& looks) {
    if (is_unknown_command(line)) return true;
    std::string_view before;
    return std::ranges::any_of(words_in(line, separators), [&](std::string_view word) {
        return word_may_start_step(std::exchange(before, word), word, path, looks);
    });
}

}  // namespace

bool starts_no_step(std::string_view script, std::string_view path) {
    int looks = 16;  // whatever the files hold
    while (!script.empty()) {
        if (may_start_step(without_comment(take_until(script, '\n')), path, looks)) return false;
    }
    return true;
}

// sbatch takes no script without "#!", so that the first argument that names such a file is it,
// whichever options take the word after them for their value.
std::optional<BatchScript> find_batch_script(std::span<const std::string> arguments) {
    const SlurmOptions options = parse_slurm_line(arguments, SlurmCommand::sbatch).options;
    if (const auto text = options.value("wrap")) return BatchScript{"--wrap", std::string(*text)};
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument.empty() || argument.front() == '-') continue;
        auto text = read_regular_file(argument);
        if (text && is_script(*text)) return BatchScript{excerpt(argument), *std::move(text)};
    }
    auto text = read_regular_file("/proc/self/fd/0");
    if (!text || !is_script(*text)) return std::nullopt;
    return BatchScript{"the script", *std::move(text)};
}

std::optional<BatchScript> find_python_of_salloc(std::span<const std::string> arguments) {
    const auto python = std::find_if(
        arguments.begin(), arguments.end(),
        [](const std::string& argument) { return file_name(argument).starts_with("python"); });
    if (python == arguments.end()) return std::nullopt;
    return BatchScript{excerpt(join(std::span(python, arguments.end()), " ")),
                       join(arguments.subspan(1), " ")};
}

}  // namespace distgpu
