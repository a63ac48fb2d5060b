#include "slurm/batch_script.h"

#include "base/excerpt.h"
#include "base/file_name.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

constexpr std::string_view white_space = " \t\r";

bool is_any_of(std::string_view word, const auto& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// Takes the text up to the next of `separators`.
std::string_view take(std::string_view& text, std::string_view separators) {
    const std::string_view item = text.substr(0, text.find_first_of(separators));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    return item;
}

// Words as a shell would have them, roughly: quotes, brackets and separators end one.
std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
        const std::string_view word = take(line, " \t\r;&|()<>{}\"'`=");
        if (!word.empty()) words.push_back(word);
    }
    return words;
}

// Another script, or a program that runs what it finds in a file of its own.
bool may_run_others(std::string_view name) {
    constexpr std::array<std::string_view, 8> runners{"sh",  "bash", "zsh",       "ksh",
                                                      "csh", "tcsh", "snakemake", "make"};
    constexpr std::array<std::string_view, 4> endings{".sh", ".bash", ".sbatch", ".slurm"};
    return is_any_of(name, runners) ||
           std::any_of(endings.begin(), endings.end(),
                       [name](std::string_view ending) { return name.ends_with(ending); });
}

bool starts_steps(std::string_view name) {
    constexpr std::array<std::string_view, 10> launchers{
        "srun", "mpirun",  "mpiexec", "mpiexec.hydra", "orterun",
        "prun", "prterun", "ibrun",   "sbatch",        "distgpu"};
    return is_any_of(name, launchers);
}

// A command that only the job knows ("$@"), or an executable of the user's own, unless it shows to
// be Python.
bool is_unknown_command(std::string_view line) {
    constexpr std::string_view replaced = "exec ";
    if (line.starts_with(replaced)) line.remove_prefix(replaced.size());
    constexpr std::array<std::string_view, 5> beginnings{"$", "\"$", "./", "../", "eval "};
    if (std::none_of(beginnings.begin(), beginnings.end(),
                     [line](std::string_view begin) { return line.starts_with(begin); })) {
        return false;
    }
    if (line.starts_with('"')) line.remove_prefix(1);
    const std::string_view name = file_name(take(line, " \t\r;&|\""));
    return !name.starts_with("python") && !name.ends_with(".py");
}

std::string_view without_comment(std::string_view line) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(white_space)));
    return line.starts_with('#') ? std::string_view() : line.substr(0, line.find(" #"));
}

// Names a program that starts steps, in whatever language.
bool names_launcher(std::string_view text) {
    while (!text.empty()) {
        for (const std::string_view word : words_of(without_comment(take(text, "\n")))) {
            if (starts_steps(file_name(word))) return true;
        }
    }
    return false;
}

bool is_script(std::string_view text) {
    return text.starts_with("#!");
}

// What sets up an environment: it is sourced in most scripts, and starts no steps.
bool is_environment(std::string_view path) {
    constexpr std::array<std::string_view, 12> names{
        "activate",      "conda.sh", "mamba.sh",   ".bashrc",    "bashrc",   "profile",
        ".bash_profile", ".profile", "modules.sh", "setvars.sh", "spack.sh", "setup-env.sh"};
    return is_any_of(file_name(path), names) || path.find("/init/") != std::string_view::npos;
}

// A script looks into other files this often at most, whatever they hold.
constexpr int most_files = 16;

class Reader {
  public:
    explicit Reader(const ScriptFiles& files) : files_(files) {}

    bool may_start_step(std::string_view line) {
        line = without_comment(line);
        if (is_unknown_command(line)) return true;
        bool sourced = false;
        bool first = true;
        for (const std::string_view word : words_of(line)) {
            const std::string_view name = file_name(word);
            if (starts_steps(name)) return true;
            if (sourced ? source_may(word) : may_run_others(name) || file_may(word, first)) {
                return true;
            }
            sourced = word == "source" || word == ".";
            first = false;
        }
        return false;
    }

  private:
    std::optional<std::string> read(std::string_view name) {
        return looked_into_++ < most_files ? files_(name) : std::nullopt;
    }

    // What cannot be read may start steps.
    bool source_may(std::string_view path) {
        if (is_environment(path)) return false;
        const bool is_path = path.find('/') != std::string_view::npos;
        const auto text = read(is_path ? std::string(path) : formatted("./{}", path));
        return !text || names_launcher(*text);
    }

    bool file_may(std::string_view word, bool is_command) {
        const bool names_file = word.find('/') != std::string_view::npos || word.ends_with(".py");
        if (!names_file && !is_command) return false;
        const auto text = read(word);
        return text && (is_script(*text) || word.ends_with(".py")) && names_launcher(*text);
    }

    const ScriptFiles& files_;
    int looked_into_ = 0;
};

}  // namespace

bool starts_no_step(std::string_view script, const ScriptFiles& files) {
    Reader reader(files);
    while (!script.empty()) {
        if (reader.may_start_step(take(script, "\n"))) return false;
    }
    return true;
}

std::optional<std::string> read_script_file(std::string_view name, std::string_view path) {
    const auto text_of = [](const std::string& file) -> std::optional<std::string> {
        auto text = read_regular_file(file);
        return text ? std::optional(*std::move(text)) : std::nullopt;
    };
    const bool is_path = name.find('/') != std::string_view::npos || name.ends_with(".py");
    if (is_path) return text_of(std::string(name));
    while (!path.empty()) {
        const std::string_view folder = take(path, ":");
        const std::string file = formatted("{}/{}", folder, name);
        if (!folder.empty() && access(file.c_str(), X_OK) == 0) return text_of(file);
    }
    return std::nullopt;
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
    const std::vector<std::string_view> words(arguments.begin() + 1, arguments.end());
    const std::vector<std::string_view> program(python, arguments.end());
    return BatchScript{excerpt(join(program, " ")), join(words, " ")};
}

}  // namespace distgpu
