#include "convert/modes.h"

#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace distgpu {
namespace {

// With no letter before or behind it: accelerate, but not accelerated.
bool has_word(std::string_view text, std::string_view word) {
    const auto is_letter = [&](std::size_t at) {
        return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
    };
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
    }
    return false;
}

}  // namespace

std::string_view named_framework(std::string_view script) {
    std::string lower(script);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    using Name = std::pair<std::string_view, std::string_view>;
    static constexpr std::array<Name, 9> names{{{"lightning", "lightning"},
                                                {"horovod", "horovod"},
                                                {"megatron", "megatron"},
                                                {"deepspeed", "deepspeed"},
                                                {"accelerate", "accelerate"},
                                                {"transformers", "accelerate"},
                                                {"tensorflow", "tensorflow"},
                                                {"tf_config", "tensorflow"},
                                                {"jax", "jax"}}};
    for (const auto& [word, mode] : names) {
        if (has_word(lower, word)) return mode;
    }
    return "pytorch";
}

bool gives_variable(const std::string& spec, std::string_view name) {
    const auto request = parse_spec("--distgpu", spec);
    if (!request || request->framework == nullptr) return false;
    const auto sets = request->framework->sets;
    return std::any_of(sets.begin(), sets.end(),
                       [&](const SetVariable& each) { return each.name == name; });
}

bool decides_variable(const std::string& spec, std::string_view name) {
    const auto request = parse_spec("--distgpu", spec);
    if (!request || request->framework == nullptr) return false;
    const auto unsets = request->framework->unsets;
    return gives_variable(spec, name) ||
           std::any_of(unsets.begin(), unsets.end(),
                       [&](const UnsetVariable& each) { return each.name == name; });
}

}  // namespace distgpu
