// Whether a function is declared here as its library's header does, where both are at hand.
#pragma once

#include <type_traits>

namespace distgpu::scaling {

// Passed in the same way: pointers as pointers, numbers and structs as wide as theirs.
template <class Own, class Theirs>
constexpr bool alike = sizeof(Own) == sizeof(Theirs) && alignof(Own) == alignof(Theirs) &&
                       std::is_pointer_v<Own> == std::is_pointer_v<Theirs>&& std::is_class_v<Own> ==
                           std::is_class_v<Theirs>;

// Their enumerations are our int.
template <class Own, class Theirs>
constexpr bool alike_signatures = false;
template <class OwnResult, class... Own, class Result, class... Theirs>
constexpr bool alike_signatures<OwnResult (*)(Own...), Result(Theirs...)> = [] {
    if constexpr (sizeof...(Own) != sizeof...(Theirs)) {
        return false;
    } else {
        return alike<OwnResult, Result> && (alike<Own, Theirs> && ...);
    }
}();

}  // namespace distgpu::scaling
