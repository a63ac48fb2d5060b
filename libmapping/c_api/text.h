// Texts and lists of texts as C passes them: NULL is an empty one, and a list ends with NULL.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace distgpu::c_api {

inline std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string{} : std::string(text);
}

inline std::optional<std::string> optional_text(const char* text) {
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

inline std::vector<std::string> texts(const char* const* list) {
    std::vector<std::string> all;
    for (; list != nullptr && *list != nullptr; ++list) all.emplace_back(*list);
    return all;
}

// The list in C's form; valid as long as `all`.
inline std::vector<const char*> list_of(const std::vector<std::string>& all) {
    std::vector<const char*> list;
    list.reserve(all.size() + 1);
    for (const std::string& text : all) list.push_back(text.c_str());
    list.push_back(nullptr);
    return list;
}

}  // namespace distgpu::c_api
