// 256 random bits that only the processes of one step know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

class Secret {
  public:
    using Bytes = std::array<std::uint8_t, 32>;

    explicit Secret(const Bytes& bytes) : bytes_(bytes) {}

    // Reads what to_string() writes, 64 lower-case hexadecimal digits; nullopt for any other text.
    static std::optional<Secret> parse(std::string_view text) {
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

    std::string to_string() const {
        std::string text;
        for (const std::uint8_t byte : bytes_) {
            text += digits[byte / digits.size()];
            text += digits[byte % digits.size()];
        }
        return text;
    }

    const Bytes& bytes() const { return bytes_; }

    bool operator==(const Secret&) const = default;

  private:
    static constexpr std::string_view digits = "0123456789abcdef";

    Bytes bytes_;
};

}  // namespace distgpu
