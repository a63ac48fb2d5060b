// Reads /proc and /sys: processes, and a node's traffic. Needs only the rights
// of the processes' user, even if Yama forbids ptrace; only programs that made themselves
// undumpable hide their environment and files.
#pragma once

#include "base/environment.h"
#include "inspect/node_sample.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// A file of /proc/PID, such as "io"; empty if it cannot be read.
std::string read_proc(pid_t pid, std::string_view file);

// /proc/PID/stat (proc(5)).
struct ProcessStat {
    std::string name;  // up to 15 bytes
    char state = '?';  // R, S, D, T, t, Z, ...
    pid_t parent = 0;
    std::uint64_t ticks = 0;         // of CPU, user and system
    std::uint64_t reaped_ticks = 0;  // of its children that it has waited for
    std::uint64_t begin = 0;         // clock ticks since the machine started
    // Wait status, if it has ended (state Z) and the kernel shows it.
    std::optional<int> exit_code{};
};
std::optional<ProcessStat> parse_stat(std::string_view text);
std::optional<ProcessStat> read_stat(pid_t pid);

// How often its main thread went to sleep: voluntary_ctxt_switches of /proc/PID/status.
std::uint64_t read_switches(pid_t pid);

// The processes of the machine that are visible.
struct ProcessTree {
    std::map<pid_t, ProcessStat> stats;
    std::multimap<pid_t, pid_t> children;  // by parent

    // Those below the process, ascending.
    std::vector<pid_t> below(pid_t pid) const;
    bool is_running(pid_t pid) const;
};
// But for those whose numbers are in `except`, ascending.
ProcessTree read_process_tree(std::span<const pid_t> except = {});

// What it has done, without `peer_bytes`; all zero if it has ended. `below`: its descendants.
Work read_work(pid_t pid, const std::vector<pid_t>& below, const ProcessTree& tree);

// Where in the kernel the process's main thread, or the thread of this number, sleeps; empty if it
// does not, or the kernel hides it.
std::string read_wait_channel(pid_t pid);

// The system call in which that thread is: "futex", or the number of a rarer one; "sleep" for a
// select() of no file, as in Python's time.sleep() before 3.11. Empty if it is in none, or the
// kernel hides it.
std::string read_system_call(pid_t pid);

// Whether a thread with this wait channel and system call sleeps for a time.
bool is_sleep(std::string_view wait_channel, std::string_view system_call);

// Those threads of a process that sleep for a time; empty if the kernel hides it.
std::set<pid_t> sleeping_threads(pid_t pid);

// The variables that it began with, the first of each name; nullopt if they may not be read.
std::optional<EnvironmentCopy> read_environment(pid_t pid);

// What it has mapped (/proc/PID/maps), up to 64 MiB, as a process may have 65,530 mappings. Empty
// if it may not be read.
std::string read_maps(pid_t pid);

// Its arguments, joined by blanks; up to 200 bytes.
std::string read_command(pid_t pid);

// The program's file: "/usr/bin/python3.11". Empty if it may not be read.
std::string read_program(pid_t pid);

// Its effective user; nullopt if it has ended.
std::optional<uid_t> read_owner(pid_t pid);

// The program's file, if its path means the same file to this process: both have the same user,
// root folder, user namespace and mount namespace, and the path leads to the running file. Empty
// otherwise, because a process in a container, or whose file was replaced, can choose the path. May
// block for ever, as stat(2) does where a file server no longer answers.
std::string read_own_program(pid_t pid);

// Bytes a second that the libraries of a process exchange with other ranks whether or not it
// progresses: Horovod's coordinator asks every rank each millisecond
// (horovod/common/operations.cc), and NCCL's RAS tells two neighbours once a second that it lives
// (src/ras/ras_internal.h).
std::uint64_t chatter_of(pid_t pid);

// Calls `visit` for each file that it has open, such as "/dev/nvidia0" or "socket:[77]", until
// `visit` returns false. Does nothing if they may not be read.
void for_each_open_file(pid_t pid, const std::function<bool(const std::string&)>& visit);

// Parses /proc/net/dev (proc(5)): the bytes received and sent on all interfaces except loopback.
std::uint64_t parse_net_dev(std::string_view text);

// Parses /proc/PID/io (proc(5)): rchar and wchar, the bytes of read() and write() on any file, but
// not those of recv() and send(); and read_bytes and write_bytes, those of the storage, which grow
// during a call, too.
std::uint64_t parse_process_io(std::string_view text);

// The bytes received and sent so far by all ports below `folder`: counters/port_rcv_data and
// port_xmit_data, which count words of four bytes (Linux's
// Documentation/ABI/stable/sysfs-class-infiniband), and hw_counters/rx_bytes and tx_bytes, the only
// ones that EFA has.
std::uint64_t read_port_bytes(const std::string& folder = "/sys/class/infiniband");

// The bytes that a step has moved on this node so far: by pid, what each process has read and
// written; under 0, what the node's interfaces and HCA ports have received and sent.
using Traffic = std::map<pid_t, std::uint64_t>;
Traffic read_traffic(const std::vector<ProcessSample>& processes);

// The bytes since then. Processes that have ended meanwhile do not count.
std::uint64_t bytes_since(const Traffic& before);

// Whether so many bytes on one node are more than the background traffic of a hanging step: up to
// 64 KiB/s from the node's services, and 1 KiB/s for each of the step's ranks. Each torch rank asks
// the store on rank 0's node once a second whether another rank failed
// (TORCH_NCCL_COORD_CHECK_MILSEC), and NCCL's RAS contacts two neighbours once a second
// (src/ras/ras_internal.h): some hundred bytes each.
bool exceeds_background_traffic(std::uint64_t bytes, double seconds, std::uint64_t ranks);

}  // namespace distgpu
