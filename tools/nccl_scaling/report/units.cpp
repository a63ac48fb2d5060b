#include "report/units.h"

#include "base/format.h"

#include <array>

namespace distgpu::scaling {
namespace {

// Without the zeros at the end, and without a point that nothing follows.
std::string trimmed(std::string number) {
    if (number.find('.') == std::string::npos) return number;
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    return number;
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return formatted("{} {}", trimmed(formatted("{:.2f}", value)), units[unit]);
}

std::string format_bandwidth(std::optional<double> bytes_per_second) {
    return bytes_per_second ? formatted("{:.2f}", *bytes_per_second / 1e9) : "n/a";
}

std::string format_percent(double fraction) {
    return formatted("{:.1f} %", fraction * 100);
}

}  // namespace distgpu::scaling
