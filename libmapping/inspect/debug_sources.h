// Debugging information of frameworks, found by the variables of a step's processes: NCCL's RAS
// (2.24 and newer; the protocol is in NCCL's src/ras/client.cc), and torch's flight recorder.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace distgpu {

// The status of the whole job: lines of printable ASCII, up to 16 KiB. `address`: NCCL_RAS_ADDR.
// Empty if that is not an address, or no process listens there, as before NCCL has started.
// Errors (object: "NCCL's RAS at HOST:PORT"): no answer by the deadline, or not NCCL's protocol.
Result<std::string> ask_ras(const std::string& address, Deadline deadline);

// The file that torch's flight recorder wrote for a rank with this process; empty if there is none.
std::string flight_record_file(const Environment& environment, std::uint32_t rank, pid_t pid);

}  // namespace distgpu
