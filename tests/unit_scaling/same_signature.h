// Compares our declaration of a function with that in its library's header.
#pragma once

#include <type_traits>

namespace distgpu::scaling {

// True if both types are passed in the same way: both are pointers, or numbers or structs of equal
// size.
template <class Own, class Theirs>
constexpr bool same_layout =
    sizeof(Own) == sizeof(Theirs) && alignof(Own) == alignof(Theirs) &&
    std::is_pointer_v<Own> == std::is_pointer_v<Theirs>&& std::is_class_v<Own> ==
        std::is_class_v<Theirs>;

// Their enumerations are int in our declarations.
template <class Own, class Theirs>
constexpr bool same_signature = false;
template <class OwnResult, class... Own, class Result, class... Theirs>
constexpr bool same_signature<OwnResult (*)(Own...), Result(Theirs...)> = [] {
    if constexpr (sizeof...(Own) != sizeof...(Theirs)) {
        return false;
    } else {
        return same_layout<OwnResult, Result> && (same_layout<Own, Theirs> && ...);
    }
}();

}  // namespace distgpu::scaling
