// Host names and ports, as users write them.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string_view>

namespace distgpu {

// Whether `text` can be a host name, an IPv4 or a bare IPv6 address: 1 to 253
// letters, digits, '.', '-', '_' and ':', but not one colon alone (HOST:PORT).
bool is_host(std::string_view text);

// A TCP port that an ordinary user may listen on: 1024 .. 65535. The error's
// object is "<what>=<text>", the text shortened.
Result<std::uint16_t> parse_port(std::string_view what, std::string_view text);

}  // namespace distgpu
