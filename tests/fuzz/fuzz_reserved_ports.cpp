// Lists and ranges of ports, and the port derived from a range.
#include "mapping/rendezvous/rendezvous.h"
#include "require.h"
#include "target.h"

#include <cstdint>

namespace distgpu {

void try_text(std::string_view text) {
    for (const std::uint32_t needed : {1U, 2U, 9U, 65535U}) {
        const auto port = first_contiguous_port(text, needed);
        require(!port || *port >= 1024, "a port of users");
        require(!port || *port + needed <= 65536U, "as many ports as are needed");
    }
    const auto range = parse_port_range(text);
    if (!range) return;
    require(range->first >= 1024 && range->first < range->last, "ports of users");
    for (const std::uint32_t room : {1U, 16U, 17U, 70000U}) {
        const std::uint16_t port =
            derived_port({static_cast<std::uint32_t>(text.size()), 1, 2}, *range, room);
        require(port >= range->first && port <= range->last, "a derived port lies in the range");
    }
}

}  // namespace distgpu
