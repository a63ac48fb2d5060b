#include "run/sizes.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <string>

namespace distgpu::scaling {
namespace {

constexpr std::size_t most_sizes = 10000;

// Powers of two.
std::optional<unsigned> shift_of(std::string_view suffix) {
    if (suffix.empty()) return 0;
    if (suffix == "K" || suffix == "k") return 10;
    if (suffix == "M" || suffix == "m") return 20;
    if (suffix == "G" || suffix == "g") return 30;
    return std::nullopt;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = whole_number_64(text.substr(0, digits));
    const auto shift = shift_of(text.substr(digits));
    if (!number || !shift || *number == 0 || *number > largest_size >> *shift) {
        return Error{formatted("size {}", text), "not a size from 1 to 1024G",
                     "give a size such as 8, 64K, 16M or 1G"};
    }
    return *number << *shift;
}

Result<std::vector<std::uint64_t>> sizes_of(const SizeRange& range) {
    if (range.begin > range.end) {
        return Error{"-b, -e", formatted("{} is more than {}", range.begin, range.end),
                     "give the smaller size with -b"};
    }
    if (range.factor < 2) return Error{"-f", "a factor below 2", "give 2 or more"};
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = range.begin; size <= range.end;
         size = range.step ? size + *range.step : size * range.factor) {
        if (sizes.size() == most_sizes) {
            return Error{"-b, -e, -i", formatted("more than {} sizes", most_sizes),
                         "give a larger step with -i"};
        }
        sizes.push_back(size);
        if (!range.step && size > range.end / range.factor) break;  // the next would not fit
    }
    return sizes;
}

}  // namespace distgpu::scaling
