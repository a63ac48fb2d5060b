#include "base/secret.h"

#include <cstddef>

namespace distgpu {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::optional<Secret> Secret::parse(std::string_view text) {
    Bytes bytes{};
    if (text.size() != 2 * bytes.size()) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = digits.find(text[i]);
        if (digit == std::string_view::npos) return std::nullopt;
        std::uint8_t& byte = bytes[i / 2];
        byte = static_cast<std::uint8_t>(byte * digits.size() + digit);
    }
    return Secret(bytes);
}

std::string Secret::to_string() const {
    std::string text;
    for (const std::uint8_t byte : bytes_) {
        text += digits[byte / digits.size()];
        text += digits[byte % digits.size()];
    }
    return text;
}

}  // namespace distgpu
