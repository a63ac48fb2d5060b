// Texts for constant tables. The loader fills in every pointer of a table in each process that
// loads spank_distgpu_step.so; writing those pages took a third of its loading time. A Literal
// contains no pointer, and a Text is half as large as a std::string_view.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace distgpu {

// A literal's characters, in a table without pointers or as a template argument.
template <std::size_t size>
struct Literal {
    constexpr Literal() = default;
    template <std::size_t length>
    // NOLINTNEXTLINE(google-explicit-constructor,modernize-avoid-c-arrays): for plain literals.
    consteval Literal(const char (&literal)[length]) {
        static_assert(length <= size, "the table has no room for this literal");
        std::copy_n(literal, length, text.begin());
    }

    constexpr std::string_view view() const { return text.data(); }
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr operator std::string_view() const { return view(); }
    constexpr bool empty() const { return text.front() == '\0'; }

    std::array<char, size> text{};  // ends with '\0'
};
template <std::size_t length>
// NOLINTNEXTLINE(modernize-avoid-c-arrays): a literal's type.
Literal(const char (&)[length])->Literal<length>;

// A pointer to a literal, in a table that has pointers anyway.
class Text {
  public:
    constexpr Text() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    consteval Text(const char* literal) : text_(*literal == '\0' ? nullptr : literal) {}

    constexpr std::string_view view() const {
        return text_ == nullptr ? std::string_view() : std::string_view(text_);
    }
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr operator std::string_view() const { return view(); }
    constexpr bool empty() const { return text_ == nullptr; }

  private:
    const char* text_ = nullptr;  // null for "", which needs no pointer
};

template <class Type>
concept TableText = requires(Type text) {
    { text.view() } -> std::same_as<std::string_view>;
};

constexpr bool operator==(const TableText auto& text, std::string_view other) {
    return text.view() == other;
}
constexpr bool operator==(const TableText auto& text, const TableText auto& other) {
    return text.view() == other.view();
}

}  // namespace distgpu

template <distgpu::TableText Type>
struct fmt::formatter<Type> {
    static constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
    static auto format(const Type& text, fmt::format_context& context) {
        return std::ranges::copy(text.view(), context.out()).out;
    }
};
