// How many bytes a step moves on this node: what its interfaces and HCA ports carried, and what its
// processes read and wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Of /proc/net/dev (proc(5)): received and sent on all interfaces but the loopback.
std::uint64_t parse_net_dev(std::string_view text);

// rchar and wchar of /proc/PID/io (proc(5)): what went through read() and write(), whatever the
// file, but not what went through recv() and send().
std::uint64_t parse_process_io(std::string_view text);

// Received and sent so far by all ports below `folder`: counters/port_rcv_data and port_xmit_data,
// which count words of four bytes (Linux's Documentation/ABI/stable/sysfs-class-infiniband), and
// hw_counters/rx_bytes and tx_bytes of EFA, which has no others.
std::uint64_t read_port_bytes(const std::string& folder = "/sys/class/infiniband");

// From a moment on.
class Traffic {
  public:
    explicit Traffic(const std::vector<pid_t>& processes);

    // Until now. A process that has ended counts no more.
    std::uint64_t bytes() const;

  private:
    std::uint64_t wire_ = 0;
    std::map<pid_t, std::uint64_t> files_;
};

// Whether so many bytes on one node are more than what goes on beside a step that hangs: up to 64
// KiB a second of the node's own services, and 1 KiB for each of the step's ranks. A rank of
// torch's asks the store on rank 0's node once a second whether another one failed
// (TORCH_NCCL_COORD_CHECK_MILSEC), and NCCL's RAS greets two neighbours once a second
// (src/ras/ras_internal.h): some hundred bytes each.
bool is_at_work(std::uint64_t bytes, double seconds, std::uint64_t ranks);

}  // namespace distgpu
