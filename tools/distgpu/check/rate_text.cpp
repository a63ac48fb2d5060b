#include "check/rate_text.h"

#include "base/format.h"

namespace distgpu {

std::string rate_text(double rate) {
    constexpr double mega = 1e6;
    constexpr double giga = 1e9;
    const double bits = rate * 8;
    // Three digits, also where rounding would make a thousand of it.
    return bits < 999.5 * mega ? formatted("{:.3g} Mb/s", bits / mega)
                               : formatted("{:.3g} Gb/s", bits / giga);
}

}  // namespace distgpu
