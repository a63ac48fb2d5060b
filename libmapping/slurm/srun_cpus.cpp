#include "slurm/srun_cpus.h"

#include "base/file_name.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

constexpr std::string_view variable = "SRUN_CPUS_PER_TASK";

bool is_variable(std::string_view word) {
    return word.substr(0, word.find('=')) == variable;
}

bool is_assignment(std::string_view word) {
    return word.find('=') != std::string_view::npos;
}

// Nothing: the word only names it.
std::optional<std::string> value_in(const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
}

}  // namespace

void SrunCpus::pass(const ShellCommand& command) {
    const auto& words = command.words;
    const auto named = std::find_if(words.begin(), words.end(), is_variable);
    if (named == words.end()) return;
    const auto has = [&](std::string_view word) {
        return std::find(words.begin(), named, word) != named;
    };
    if (has("unset")) {
        *this = {};
        return;
    }
    const bool exports = has("export") || ((has("declare") || has("typeset")) && has("-x"));
    // Before a command it is that command's alone.
    if (!exports && !std::all_of(named, words.end(), is_assignment)) return;
    is_exported_ = is_exported_ || exports;
    if (auto value = value_in(*named)) value_ = std::move(value);
}

std::optional<std::string> SrunCpus::of(const ShellCommand& command) const {
    const auto& words = command.words;
    const auto srun = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return file_name(word) == "srun";
    });
    const auto own = std::find_if(words.begin(), srun, is_variable);
    if (own != srun && is_assignment(*own)) return value_in(*own);
    return is_exported_ ? value_ : std::nullopt;
}

}  // namespace distgpu
