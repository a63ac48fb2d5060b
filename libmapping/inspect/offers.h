// What the frameworks in a step's processes offer to those who debug it, as their variables say:
// NCCL's RAS (2.24 and newer), whose protocol is that of NCCL's src/ras/client.cc, and the files of
// torch's flight recorder.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace distgpu {

// The status of the whole job, as text of up to 16 KiB: printable ASCII in lines. `address`: NCCL's
// NCCL_RAS_ADDR. Empty: it is none, or nobody listens there, as where NCCL has not begun.
// Errors (object: "NCCL's RAS at HOST:PORT"): no answer by the deadline, or not as NCCL does.
Result<std::string> ask_ras(const std::string& address, Deadline deadline);

// The file that torch's flight recorder wrote for a rank, whose process this is; empty: it did not.
std::string flight_record(const Environment& environment, std::uint32_t rank, pid_t pid);

}  // namespace distgpu
