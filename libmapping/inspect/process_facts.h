// What /proc and /sys tell of processes, of their connections, and of a node's traffic. Needs no
// right but that of the processes' user, also where Yama forbids ptrace: only programs that made
// themselves undumpable hide their environment and files.
#pragma once

#include "base/environment.h"
#include "inspect/look.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// /proc/PID/stat (proc(5)).
struct ProcessStat {
    std::string name;  // up to 15 bytes
    char state = '?';  // R, S, D, T, t, Z, ...
    pid_t parent = 0;
    std::uint64_t ticks = 0;         // of CPU, user's and system's
    std::uint64_t reaped_ticks = 0;  // of its children that ended and were waited for
    std::uint64_t begin = 0;         // clock ticks since the machine started
    // As waitpid() has it, of one that has ended (state Z); nothing: the kernel does not tell.
    std::optional<int> exit_code{};
};
std::optional<ProcessStat> parse_stat(std::string_view text);
std::optional<ProcessStat> read_stat(pid_t pid);

// How often its main thread went to sleep by itself: voluntary_ctxt_switches of /proc/PID/status.
std::uint64_t read_switches(pid_t pid);

// All zero: it is gone.
Work read_work(pid_t pid);

// Where in the kernel its main thread sleeps; empty: it does not, or the kernel does not tell.
std::string read_wait_channel(pid_t pid);

// The variables that it began with; of a name that stands twice the first. Nothing: they may not be
// read.
std::optional<EnvironmentCopy> read_environment(pid_t pid);

// Its words, joined; up to 200 bytes.
std::string read_command(pid_t pid);

// The program's file: "/usr/bin/python3.11". Empty: it may not be read.
std::string read_program(pid_t pid);

// Its effective user. Nothing: it is gone.
std::optional<uid_t> read_owner(pid_t pid);

// The program's file, if its path means the same file to this process: both have the same user,
// root folder, user namespace and mount namespace, and the path leads to the file that runs. Empty
// otherwise: a process in a container, or one whose file was replaced, names what it likes.
std::string read_own_program(pid_t pid);

// All processes of the machine that can be seen, each with its parent.
std::map<pid_t, pid_t> read_parents();

// Each file that it has open, such as "/dev/nvidia0" or "socket:[77]", until `take` returns false.
// None where they may not be read.
void for_each_open_file(pid_t pid, const std::function<bool(const std::string&)>& take);

// Up to 16 of its TCP connections, those in which the most bytes wait first.
std::vector<Connection> open_connections(pid_t pid);

// Of /proc/PID/net/tcp or tcp6 (proc(5)): by inode, those that are established.
std::map<std::uint64_t, Connection> parse_tcp(std::string_view text);

// Of /proc/net/dev (proc(5)): received and sent on all interfaces but the loopback.
std::uint64_t parse_net_dev(std::string_view text);

// rchar and wchar of /proc/PID/io (proc(5)): what went through read() and write(), whatever the
// file, but not what went through recv() and send().
std::uint64_t parse_process_io(std::string_view text);

// Received and sent so far by all ports below `folder`: counters/port_rcv_data and port_xmit_data,
// which count words of four bytes (Linux's Documentation/ABI/stable/sysfs-class-infiniband), and
// hw_counters/rx_bytes and tx_bytes of EFA, which has no others.
std::uint64_t read_port_bytes(const std::string& folder = "/sys/class/infiniband");

// The bytes that a step has moved on this node up to a moment: what each process has read and
// written, by its number, and under 0 what the node's interfaces and HCA ports have carried.
using Traffic = std::map<pid_t, std::uint64_t>;
Traffic read_traffic(const std::vector<ProcessLook>& processes);

// How many more it is now. A process that has ended meanwhile counts for nothing.
std::uint64_t bytes_since(const Traffic& before);

// Whether so many bytes on one node are more than what goes on beside a step that hangs: up to 64
// KiB a second of the node's own services, and 1 KiB for each of the step's ranks. A rank of
// torch's asks the store on rank 0's node once a second whether another one failed
// (TORCH_NCCL_COORD_CHECK_MILSEC), and NCCL's RAS greets two neighbours once a second
// (src/ras/ras_internal.h): some hundred bytes each.
bool is_at_work(std::uint64_t bytes, double seconds, std::uint64_t ranks);

}  // namespace distgpu
