// Structs from callers that were compiled with another version of mapping.h: they begin with the
// size that the caller knows.
#pragma once

#include "base/format.h"
#include "base/result.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace distgpu::c_api {

// More than any version of a struct will have; a size that was never set is rarely below it.
inline constexpr std::size_t largest_struct = 4096;

// What the caller gave. Fields that its version does not have are 0.
// Errors: a size that is none; a field past those known here that is not 0, as ignoring what the
// caller asked for would be wrong. Object: the struct's `name`.
template <class Struct>
Result<Struct> read_sized(std::string_view name, const Struct* given) {
    static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, size) == 0);
    const std::size_t size = given->size;
    if (size < sizeof(size) || size > largest_struct) {
        return Error{formatted("{}.size {}", name, size), "not the size of the struct",
                     formatted("set it to sizeof(struct {})", name)};
    }
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    const std::size_t shared = std::min(size, sizeof(Struct));
    if (std::any_of(bytes + shared, bytes + size, [](unsigned char byte) { return byte != 0; })) {
        return Error{
            formatted("{}.size {}", name, size),
            formatted("a field is set that this library does not have: it knows only {} bytes",
                      sizeof(Struct)),
            "leave it 0, or use a newer libdistgpu"};
    }
    Struct known{};
    std::memcpy(&known, given, shared);
    return known;
}

}  // namespace distgpu::c_api
