// See spank_access.h.
#include "spank_access.h"

#include <charconv>

namespace distgpu {

std::optional<std::uint32_t> item(spank_t spank, spank_item_t which) {
    std::uint32_t value = 0;
    if (spank_get_item(spank, which, &value) != ESPANK_SUCCESS) return std::nullopt;
    return value;
}

std::vector<std::string> program_arguments(spank_t spank) {
    int count = 0;
    char** arguments = nullptr;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &arguments) != ESPANK_SUCCESS ||
        arguments == nullptr) {
        return {};
    }
    return {arguments, arguments + count};
}

std::optional<std::string> step_variable(spank_t spank, const char* name) {
    std::string value(256, '\0');
    // Linux refuses an argument string of more than 128 KiB, but an environment
    // that srun sends may hold a longer one: stop where no real value reaches.
    constexpr std::size_t longest = std::size_t{1} << 22U;
    while (value.size() <= longest) {
        const spank_err_t rc =
            spank_getenv(spank, name, value.data(), static_cast<int>(value.size()));
        if (rc == ESPANK_SUCCESS) {
            value.resize(value.find('\0'));
            return value;
        }
        if (rc != ESPANK_NOSPACE) return std::nullopt;
        value.resize(value.size() * 4);
    }
    return std::nullopt;
}

std::optional<std::uint32_t> step_number(spank_t spank, const char* name) {
    const auto text = step_variable(spank, name);
    std::uint32_t value = 0;
    if (!text ||
        std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) {
        return std::nullopt;
    }
    return value;
}

std::vector<std::string_view> step_variables(spank_t spank) {
    char** environment = nullptr;
    std::vector<std::string_view> variables;
    if (spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS) return variables;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        variables.emplace_back(*environment);
    }
    return variables;
}

}  // namespace distgpu
