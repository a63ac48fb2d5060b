#include "mapping/rendezvous/host_port.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <limits>

namespace distgpu {

bool is_host(std::string_view text) {
    constexpr std::size_t longest = 253;  // RFC 1035
    return !text.empty() && text.size() <= longest &&
           std::count(text.begin(), text.end(), ':') != 1 &&
           std::all_of(text.begin(), text.end(), is_host_character);
}

Result<std::uint16_t> parse_port(std::string_view what, std::string_view text) {
    const auto port = whole_number(text);
    constexpr std::uint32_t last = std::numeric_limits<std::uint16_t>::max();
    if (!port || *port < 1024 || *port > last) {
        return Error{formatted("{}={}", what, excerpt(text)),
                     "not a port that a user may listen on",
                     formatted("give a number from 1024 to {}", last)};
    }
    return static_cast<std::uint16_t>(*port);
}

}  // namespace distgpu
