#include "convert/assignments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace distgpu {
namespace {

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The name of NAME=VALUE or NAME; nothing: another word.
std::optional<std::string> name_of(const std::string& word, bool needs_value) {
    const std::size_t end = std::min(word.find('='), word.size());
    const bool is_name =
        end > 0 && std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end),
                               is_name_character);
    if (!is_name || (needs_value && end == word.size())) return std::nullopt;
    return word.substr(0, end);
}

}  // namespace

std::vector<std::string> names_set(const std::vector<std::string>& words) {
    const bool exports = words.front() == "export" && words.size() > 1;
    std::vector<std::string> names;
    for (std::size_t i = exports ? 1 : 0; i < words.size(); ++i) {
        const auto name = name_of(words[i], !exports);
        if (!name) return {};
        names.push_back(*name);
    }
    return names;
}

bool is_of_ranks(std::string_view name) {
    static constexpr std::array<std::string_view, 11> names{"MASTER_ADDR",
                                                            "MASTER_PORT",
                                                            "WORLD_SIZE",
                                                            "RANK",
                                                            "LOCAL_RANK",
                                                            "LOCAL_WORLD_SIZE",
                                                            "NODE_RANK",
                                                            "GROUP_RANK",
                                                            "JAX_COORDINATOR_ADDRESS",
                                                            "COORDINATOR_ADDRESS",
                                                            "TF_CONFIG"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool sets_only_ranks(const std::vector<std::string>& words) {
    const auto names = names_set(words);
    return !names.empty() && std::all_of(names.begin(), names.end(), is_of_ranks);
}

std::size_t first_word(const std::vector<std::string>& words) {
    const auto command = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return !name_of(word, true) && word != "exec" && word != "time";
    });
    return static_cast<std::size_t>(command - words.begin());
}

}  // namespace distgpu
