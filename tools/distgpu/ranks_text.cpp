#include "ranks_text.h"

#include "base/format.h"

#include <cstddef>

namespace distgpu {

std::string number_ranges(const std::vector<std::uint32_t>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        const std::uint32_t first = ranks[i];
        std::uint32_t last = first;
        while (++i < ranks.size() && ranks[i] == last + 1) ++last;
        text += formatted("{}{}", text.empty() ? "" : ",", first);
        if (last > first) text += formatted("-{}", last);
    }
    return text;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    return formatted("rank{} {}", ranks.size() == 1 ? "" : "s", number_ranges(ranks));
}

}  // namespace distgpu
