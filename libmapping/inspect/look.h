// What `distgpu why` sees of a step's processes on one node, as that node sends it.
#pragma once

#include "base/json_text.h"
#include "inspect/stack.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// One process at one moment.
struct Moment {
    char state = '?';  // as /proc/PID/stat has it; 'X': gone
    double cpu = 0;    // seconds since it began
    // How often its main thread woke since the last moment; not those when a tool looked at it.
    std::uint64_t wakings = 0;
    std::string wait_channel{};            // empty: not asleep, or not known
    std::optional<std::uint32_t> stack{};  // index; nothing: not known

    bool operator==(const Moment&) const = default;
};

struct Connection {
    std::string peer;  // "10.0.0.2:24608"
    std::uint64_t unsent = 0;
    std::uint64_t unread = 0;  // bytes

    bool operator==(const Connection&) const = default;
};

// What a process did since it began.
struct Work {
    std::uint64_t main_switches = 0;  // context switches of its main thread, of both kinds
    std::uint64_t main_ticks = 0;     // clock ticks of CPU of its main thread
    std::uint64_t switches = 0;       // of all its threads
    std::uint64_t ticks = 0;
    std::uint64_t reaped_ticks = 0;  // of its children that ended and were waited for

    bool operator==(const Work&) const = default;
};

struct ProcessLook {
    pid_t pid = 0;
    pid_t parent = 0;
    std::uint64_t begin = 0;  // clock ticks
    std::string name{};
    std::string command{};
    bool is_python = false;
    std::optional<std::uint32_t> task{};        // Slurm's rank of the task that it belongs to
    std::optional<std::uint32_t> rank{};        // RANK
    std::optional<std::uint32_t> world_size{};  // WORLD_SIZE
    std::vector<Moment> moments{};              // one for each of the node's times
    std::vector<Connection> connections{};      // at the last moment
    std::optional<int> exit_code{};             // of one that has ended, as waitpid() has it
    std::vector<std::string> gpus{};            // that it may use: their PCI addresses
    // Before the look and after it, which itself makes the process switch: between the end of one
    // look and the beginning of another stands what the process did by itself.
    Work work_before{};
    Work work_after{};

    bool operator==(const ProcessLook&) const = default;
};

// How busy a GPU was, as NVIDIA's library tells it: percent of the last moments, at each of the
// node's times; nothing: it did not tell.
struct GpuLook {
    std::string pci;
    std::vector<std::optional<std::uint32_t>> busy{};

    bool operator==(const GpuLook&) const = default;
};

struct NodeLook {
    std::string node;
    std::vector<double> times{};         // of the moments, seconds
    std::vector<std::uint32_t> tasks{};  // Slurm's ranks that were started here
    std::vector<ProcessLook> processes{};
    std::vector<Stack> stacks{};
    std::vector<GpuLook> gpus{};  // that processes may use; empty: the library is not there
    std::string problem{};        // why there are no stacks, or no look at all; empty: nothing
    std::uint64_t traffic = 0;    // bytes between the first and the last moment (traffic.h)
    std::string nccl{};           // the status of the whole job, lines; empty: not asked
    std::vector<std::string> records{};  // files of torch's flight recorder

    bool operator==(const NodeLook&) const = default;
};

std::vector<pid_t> pids_of(const NodeLook& look);

JsonText to_json(const NodeLook& look);

// Nothing: the text is not of this release.
std::optional<NodeLook> read_node_look(std::string_view text);

}  // namespace distgpu
