// What NCCL's RAS subsystem (2.24 and newer) says of its job: a client of the protocol that
// src/ras/client.cc of NCCL speaks.
#pragma once

#include "base/io/deadline.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// Where a process of NCCL's listens.
struct RasAddress {
    std::string host;
    std::uint16_t port = 0;

    bool operator==(const RasAddress&) const = default;
};

// Reads the value of NCCL_RAS_ADDR: "localhost:28028", "[::1]:28028".
std::optional<RasAddress> parse_ras_address(std::string_view text);

// The status of the job, as text of up to 16 KiB: printable ASCII in lines. Empty: nobody listens
// there, as where NCCL has not begun.
// Errors (object: "NCCL's RAS at HOST:PORT"): no answer by the deadline, or not as NCCL does.
Result<std::string> ask_ras(const RasAddress& address, Deadline deadline);

}  // namespace distgpu
