#include "node/discovery/natural_order.h"

#include <algorithm>
#include <tuple>

namespace distgpu::discovery {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Cuts the digits at the front of `text` off, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(digits.size());
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
}

}  // namespace

bool natural_less(std::string_view left, std::string_view right) {
    const std::tuple whole(left, right);
    while (!left.empty() && !right.empty()) {
        if (is_digit(left.front()) && is_digit(right.front())) {
            const std::string_view a = take_number(left);
            const std::string_view b = take_number(right);
            if (a != b) return std::tuple(a.size(), a) < std::tuple(b.size(), b);
        } else {
            if (left.front() != right.front()) return left.front() < right.front();
            left.remove_prefix(1);
            right.remove_prefix(1);
        }
    }
    if (left.empty() && right.empty()) return std::get<0>(whole) < std::get<1>(whole);
    return left.empty();
}

}  // namespace distgpu::discovery
