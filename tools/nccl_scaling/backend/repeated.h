// A buffer that holds a table of bytes again and again. By it the check of a collective's result is
// as fast as memory and needs to know no type: what belongs there is written and compared in pieces
// of the table.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace distgpu::scaling {

struct Repeated {
    std::span<const std::byte> table;  // not empty
    std::size_t first = 0;             // where in the table the buffer begins
};

// Both work on all CPUs that this process may use.
void fill(std::span<std::byte> buffer, const Repeated& content);

// The place of the first byte that differs from the content. Nothing: none does.
std::optional<std::size_t> first_difference(std::span<const std::byte> buffer,
                                            const Repeated& content);

}  // namespace distgpu::scaling
