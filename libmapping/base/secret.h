// 256 random bits that only the processes of one step know.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

class Secret {
  public:
    using Bytes = std::array<std::uint8_t, 32>;

    explicit Secret(const Bytes& bytes) : bytes_(bytes) {}

    // Reads what to_string() writes, 64 lower-case hexadecimal digits; nothing: another text.
    static std::optional<Secret> parse(std::string_view text);
    std::string to_string() const;

    const Bytes& bytes() const { return bytes_; }

    bool operator==(const Secret&) const = default;

  private:
    Bytes bytes_;
};

}  // namespace distgpu
