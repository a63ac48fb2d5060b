// Where a process listens, as one text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distgpu {

// "host:port" with an IPv6 address in brackets.
std::string host_and_port(std::string_view address, std::uint16_t port);

}  // namespace distgpu
