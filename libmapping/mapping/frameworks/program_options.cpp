#include "mapping/frameworks/program_options.h"

#include "base/file_name.h"
#include "base/take_until.h"

#include <algorithm>

namespace distgpu {
namespace {

// Both vLLM's and Python's own parsers take --node_rank for --node-rank.
bool is_same_option(std::string_view written, std::string_view name) {
    const auto same = [](char left, char right) {
        return left == right || (left == '_' && right == '-');
    };
    return std::equal(written.begin(), written.end(), name.begin(), name.end(), same);
}

// `names` between blanks.
bool is_one_of(std::string_view written, std::string_view names) {
    while (!names.empty()) {
        const std::string_view name = take_until(names, ' ');
        if (!name.empty() && is_same_option(written, name)) return true;
    }
    return false;
}

}  // namespace

StartedProgram started_program(std::span<const std::string> command_line) {
    const bool is_exec = command_line.size() > 2 && file_name(command_line[0]) == "distgpu" &&
                         command_line[1] == "exec";
    if (!is_exec) return {command_line};
    const auto dashes = std::find(command_line.begin(), command_line.end(), "--");
    if (dashes == command_line.end()) return {command_line};
    return {command_line.subspan(static_cast<std::size_t>(dashes - command_line.begin()) + 1),
            true};
}

std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            std::string_view names) {
    std::optional<std::string_view> value;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::size_t equals = word.find('=');
        if (word.size() < 2 || word.front() != '-' || !is_one_of(word.substr(0, equals), names)) {
            continue;
        }
        if (equals != std::string_view::npos) {
            value = word.substr(equals + 1);
        } else {
            const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
            value = has_value ? std::string_view(words[i + 1]) : std::string_view{};
        }
    }
    return value;
}

std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            const ProgramOption& option) {
    const auto own = given_value(words, option.name);
    return own ? own : given_value(words, option.others);
}

std::vector<std::string> options_of(const Service& service, const TaskContext& task) {
    const auto users = started_program(task.step->facts.program).words;
    std::vector<std::string> options;
    for (const ProgramOption& option : service.options) {
        auto value = option.value(task);
        const bool is_users = service.companion.empty() && given_value(users, option);
        if (!value || is_users) continue;
        options.emplace_back(option.name);
        if (!value->empty()) options.push_back(*std::move(value));
    }
    return options;
}

}  // namespace distgpu
