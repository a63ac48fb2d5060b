#include "slurm/batch_script.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <unistd.h>

namespace distgpu {
namespace {

// Roughly a shell's words: quotes, brackets and separators end one.
constexpr std::string_view separators = " \t\r;&|()<>{}\"'`=";

bool is_path(std::string_view word) {
    return word.find('/') != std::string_view::npos;
}

// Another script, or a program that runs commands from its own file.
bool may_run_others(std::string_view name) {
    return has_word("sh bash zsh ksh csh tcsh snakemake make", name) || name.ends_with(".sh") ||
           name.ends_with(".bash") || name.ends_with(".sbatch") || name.ends_with(".slurm");
}

bool starts_steps(std::string_view name) {
    return has_word("srun mpirun mpiexec mpiexec.hydra orterun prun prterun ibrun sbatch distgpu",
                    name);
}

// A file that sets up an environment: most scripts source one, and it starts no steps.
bool is_environment(std::string_view path) {
    return has_word(
               "activate conda.sh mamba.sh .bashrc bashrc profile .bash_profile .profile "
               "modules.sh setvars.sh spack.sh setup-env.sh",
               file_name(path)) ||
           path.find("/init/") != std::string_view::npos;
}

// A command that only the job knows ("$@"), or the user's own executable, unless its name shows
// that it is Python.
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

// Whether the text, in any language, names a program that starts steps.
bool names_launcher(std::string_view text) {
    while (!text.empty()) {
        for (const std::string_view word :
             words_in(without_comment(cut_until(text, '\n')), separators)) {
            if (starts_steps(file_name(word))) return true;
        }
    }
    return false;
}

bool is_script(std::string_view text) {
    return text.starts_with("#!");
}

// Reads a file that a script names by its path, or as a command in one of the folders of `path`;
// nullopt if it cannot be read.
std::optional<std::string> read_named_file(std::string_view name, std::string_view path) {
    std::string file(is_path(name) || name.ends_with(".py") ? name : "");
    while (file.empty() && !path.empty()) {
        const std::string_view folder = cut_until(path, ':');
        std::string candidate = formatted("{}/{}", folder, name);
        if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) file = std::move(candidate);
    }
    auto text = read_regular_file(file);
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

// `previous`: the word before it, empty for the first. `files_left`: how many files may be read.
bool word_may_start_step(std::string_view previous, std::string_view word, std::string_view path,
                         int& files_left) {
    const auto text_of = [&](std::string_view name) {
        return --files_left < 0 ? std::nullopt : read_named_file(name, path);
    };
    if (starts_steps(file_name(word))) return true;
    if (previous == "source" || previous == ".") {
        if (is_environment(word)) return false;
        const auto text = text_of(is_path(word) ? std::string(word) : "./" + std::string(word));
        // A file that cannot be read may start steps.
        return !text || names_launcher(*text);
    }
    if (may_run_others(file_name(word))) return true;
    if (!previous.empty() && !is_path(word) && !word.ends_with(".py")) return false;
    const auto text = text_of(word);
    const bool has_script = text && (is_script(*text) || word.ends_with(".py"));
    return has_script && names_launcher(*text);
}

bool line_may_start_step(std::string_view line, std::string_view path, int& files_left) {
    if (is_unknown_command(line)) return true;
    std::string_view previous;
    return std::ranges::any_of(words_in(line, separators), [&](std::string_view word) {
        return word_may_start_step(std::exchange(previous, word), word, path, files_left);
    });
}

}  // namespace

bool starts_no_step(std::string_view script, std::string_view path) {
    int files_left = 16;
    while (!script.empty()) {
        const std::string_view line = without_comment(cut_until(script, '\n'));
        if (line_may_start_step(line, path, files_left)) return false;
    }
    return true;
}

// sbatch accepts no script without "#!", so the first argument that names such a file is the
// script, even if an unknown option may have a value.
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

bool has_option(std::string_view script, std::string_view name) {
    constexpr std::string_view directive = "#SBATCH";
    while (!script.empty()) {
        std::string_view line = cut_until(script, '\n');
        if (!line.starts_with(directive)) continue;
        line.remove_prefix(directive.size());
        std::vector<std::string> words{"sbatch"};
        for (const std::string_view word : words_in(line)) words.emplace_back(word);
        if (parse_slurm_line(words, SlurmCommand::sbatch).options.has(name)) return true;
    }
    return false;
}

std::optional<BatchScript> find_salloc_python(std::span<const std::string> arguments) {
    const auto python = std::find_if(
        arguments.begin(), arguments.end(),
        [](const std::string& argument) { return file_name(argument).starts_with("python"); });
    if (python == arguments.end()) return std::nullopt;
    return BatchScript{excerpt(join(std::span(python, arguments.end()), " ")),
                       join(arguments.subspan(1), " ")};
}

}  // namespace distgpu
