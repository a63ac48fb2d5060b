// See host_and_port.h.
#include "base/host_and_port.h"

#include "base/format.h"

namespace distgpu {

std::string host_and_port(std::string_view address, std::uint16_t port) {
    const bool is_ipv6 = address.find(':') != std::string_view::npos;
    return is_ipv6 ? formatted("[{}]:{}", address, port) : formatted("{}:{}", address, port);
}

}  // namespace distgpu
