// A node's sample of a step's processes, which it sends to `distgpu why` and `distgpu explain`.
#pragma once

#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"
#include "inspect/stack.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Each struct lists its JSON fields in fields() (base/json_fields.h).

// What a process has done since it began.
struct Work {
    std::uint64_t main_switches = 0;  // voluntary and other context switches of its main thread
    std::uint64_t main_ticks = 0;     // CPU time of its main thread, in clock ticks
    std::uint64_t ticks = 0;          // of all its threads
    std::uint64_t child_ticks = 0;    // of the processes below it, those that have ended included
    std::uint64_t file_bytes = 0;     // that it and the processes below it have read and written
    std::uint64_t peer_bytes = 0;     // over its TCP connections to other ranks

    bool operator==(const Work&) const = default;
    static void fields(auto& io, auto& it) {
        io("main_switches", it.main_switches, "main_ticks", it.main_ticks, "ticks", it.ticks,
           "child_ticks", it.child_ticks, "file_bytes", it.file_bytes, "peer_bytes", it.peer_bytes);
    }
};

// The state of one process at one moment.
struct Moment {
    char state = '?';                      // of /proc/PID/stat; 'X' if it has ended
    std::string wait_channel{};            // empty if not asleep, or unknown
    std::string system_call{};             // "futex"; empty if in none, or unknown
    std::optional<std::uint32_t> stack{};  // index into NodeSample::stacks; nullopt if unknown
    std::string variables{};   // a digest of the variables of the user's functions in the stack
    bool holds_gil = false;    // Python's global lock
    bool has_request = false;  // the innermost of these functions has a request to other ranks
    bool has_running_child = false;  // at any depth
    // Before and after its stack was read, because the tools make the process switch: what it did
    // itself is the difference between the end of one moment and the beginning of the next.
    Work before{};
    Work after{};

    bool operator==(const Moment&) const = default;
    static void fields(auto& io, auto& it) {
        io("state", it.state, "channel", it.wait_channel, "call", it.system_call, "stack", it.stack,
           "variables", it.variables, "gil", it.holds_gil, "request", it.has_request, "child_runs",
           it.has_running_child, "before", it.before, "after", it.after);
    }
};

struct Connection {
    std::string peer;  // "10.0.0.2:24608"
    std::uint64_t unsent = 0;
    std::uint64_t unread = 0;  // bytes

    bool operator==(const Connection&) const = default;
    static void fields(auto& io, auto& it) {
        io("peer", it.peer, "unsent", it.unsent, "unread", it.unread);
    }
};

// A GPU that a process may use.
struct GpuFacts {
    std::string name;     // in CUDA_VISIBLE_DEVICES or the like
    std::string pci{};    // empty if unknown; then the rest is empty too
    std::string file{};   // "/dev/nvidia0"
    std::string model{};  // empty if unknown

    bool operator==(const GpuFacts&) const = default;
    static void fields(auto& io, auto& it) {
        io("name", it.name, "pci", it.pci, "file", it.file, "model", it.model);
    }
};

struct Variable {
    std::string name;
    std::string value;

    bool operator==(const Variable&) const = default;
    static void fields(auto& io, auto& it) { io("name", it.name, "value", it.value); }
};

// A variable of a rank, its CPUs or its GPUs, where they differ from an earlier or expected value.
struct Change {
    // What the current value is compared with.
    enum class Since : std::uint8_t {
        start,    // the value when the task began
        given,    // what distgpu gave the task
        planned,  // what distgpu plans for this rank
        others,   // what most ranks of the step have
    };
    Since since = Since::start;
    std::string name;                   // of a variable, or "CPUs"
    std::optional<std::string> then{};  // nullopt if it was not set
    std::optional<std::string> now{};   // nullopt if it is not set

    bool operator==(const Change&) const = default;
    static void fields(auto& io, auto& it) {
        io("since", it.since, "name", it.name, "then", it.then, "now", it.now);
    }
};
std::string_view name_of(Change::Since since);  // "start", "given", ...

// For `distgpu explain`: what a rank was given, and what has changed since.
struct RankFacts {
    std::optional<std::uint32_t> local_rank{};
    std::optional<std::uint32_t> task{};   // SLURM_PROCID, or else slurmstepd's number
    std::vector<std::string> launchers{};  // "811 bash wrap.sh", the task's first process first
    std::string cpus{};                    // on which it may run now: "0-3"
    std::string cpus_at_start{};           // on which its task began; empty if unknown
    std::vector<std::string> open_gpus{};  // device files that it has open
    std::vector<Variable> variables{};     // sorted by name
    std::vector<Change> changes{};
    bool is_hidden = false;  // its variables cannot be read

    bool operator==(const RankFacts&) const = default;
    static void fields(auto& io, auto& it) {
        io("local_rank", it.local_rank, "task", it.task, "launchers", it.launchers, "cpus", it.cpus,
           "cpus_then", it.cpus_at_start, "open_gpus", it.open_gpus, "variables", it.variables,
           "changes", it.changes, "hidden", it.is_hidden);
    }
};

struct ProcessSample {
    pid_t pid = 0;
    pid_t parent = 0;
    std::uint64_t begin = 0;  // clock ticks since the machine started
    std::string name{};
    std::string command{};
    bool is_python = false;
    bool is_task = false;                       // the first process of its task
    bool is_hidden = false;                     // its variables cannot be read, or were overwritten
    std::optional<std::uint32_t> task{};        // Slurm's rank of the task that it belongs to
    std::optional<std::uint32_t> rank{};        // RANK
    std::optional<std::uint32_t> world_size{};  // WORLD_SIZE
    std::vector<Moment> moments{};              // one for each of the node's times
    std::vector<Connection> connections{};      // at the last moment
    std::optional<int> exit_code{};             // wait status, if it has ended
    std::vector<GpuFacts> gpus{};               // those that its variables name
    // Its stack below Python, at the last moment; nullopt if unknown. One process of those with the
    // same Python stack is enough, so the others have the same index.
    std::optional<std::uint32_t> native{};
    // Seconds since data last moved between it and another rank; nullopt without a connection.
    std::optional<double> silence{};
    // Who holds the lock file for which it waits, a clause; empty if it waits for none.
    std::string lock{};
    // Bytes a second that its libraries exchange with other ranks whether or not it progresses.
    std::uint64_t chatter = 0;
    std::optional<RankFacts> facts{};  // of a rank, for `distgpu explain`

    bool operator==(const ProcessSample&) const = default;
    static void fields(auto& io, auto& it) {
        io("pid", it.pid, "parent", it.parent, "begin", it.begin, "name", it.name, "command",
           it.command, "python", it.is_python, "first", it.is_task, "hidden", it.is_hidden, "task",
           it.task, "rank", it.rank, "world_size", it.world_size, "moments", it.moments,
           "connections", it.connections, "exit_code", it.exit_code, "gpus", it.gpus, "native",
           it.native, "silence", it.silence, "lock", it.lock, "chatter", it.chatter, "facts",
           it.facts);
    }
};

// How busy a GPU was at each of the node's times, in percent, from NVIDIA's library.
struct GpuSample {
    std::string pci;
    std::vector<std::optional<std::uint32_t>> busy{};  // nullopt if unknown

    bool operator==(const GpuSample&) const = default;
    static void fields(auto& io, auto& it) { io("pci", it.pci, "busy", it.busy); }
};

struct NodeSample {
    std::string node;
    std::string spec{};                  // with which distgpu prepared the tasks; for explain
    double began = 0;                    // seconds of this node's clock, which nothing sets back
    std::vector<double> times{};         // of the moments, in seconds since then
    std::vector<double> ends{};          // when their stacks were read; none if that took no time
    std::vector<std::uint32_t> tasks{};  // Slurm's ranks of the tasks that were started here
    std::vector<ProcessSample> processes{};
    std::vector<Stack> stacks{};
    std::vector<GpuSample> gpus{};  // that processes may use; empty without NVIDIA's library
    std::string problem{};          // why stacks or the whole sample are missing
    std::uint64_t traffic = 0;      // bytes between the first and the last moment
    std::string nccl{};             // NCCL's status of the whole job, lines; empty if not asked
    std::vector<std::string> records{};  // files of torch's flight recorder

    // From the first moment to the last.
    double seconds() const { return times.empty() ? 0 : times.back() - times.front(); }

    bool operator==(const NodeSample&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "spec", it.spec, "began", it.began, "times", it.times, "ends", it.ends,
           "tasks", it.tasks, "processes", it.processes, "stacks", it.stacks, "gpus", it.gpus,
           "problem", it.problem, "traffic", it.traffic, "nccl", it.nccl, "records", it.records);
    }
};

JsonText to_json(const NodeSample& sample);
template <class Part>  // Variable, Change, Connection or GpuSample
JsonText to_json(const Part& part);

// nullopt if the text is not from this release.
std::optional<NodeSample> read_node_sample(std::string_view text);

// Puts the moments of an earlier sample of the same node before those of this one. Processes that
// are not in both keep only the moments of this sample, and have state '?' before that.
void prepend_moments(const NodeSample& earlier, NodeSample& sample);

// Samples a step's processes on this node at once, and then about once a second until `duration` is
// over, at irregular times that do not coincide with a loop of the program. With a `duration` of 0
// samples once and does not ask NCCL. The sample says what could not be read. `environment`: this
// process's. Error: the step belongs to another user.
Result<NodeSample> sample_this_node(const std::string& node, const std::string& step,
                                    std::chrono::seconds duration, const Environment& environment);

}  // namespace distgpu
