// What one node sees of a step's processes, as it sends it to `distgpu why` and `distgpu explain`,
// and which of the processes are the step's ranks.
#pragma once

#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"
#include "inspect/stack.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// The fields of each struct are listed in its fields() (base/json_fields.h).

// One process at one moment.
struct Moment {
    char state = '?';  // as /proc/PID/stat has it; 'X': gone
    double cpu = 0;    // seconds since it began
    // How often its main thread woke since the last moment; not those when a tool looked at it.
    std::uint64_t wakings = 0;
    std::string wait_channel{};            // empty: not asleep, or not known
    std::optional<std::uint32_t> stack{};  // index; nothing: not known

    bool operator==(const Moment&) const = default;
    static void fields(auto& io, auto& it) {
        io("state", it.state, "cpu", it.cpu, "wakings", it.wakings, "channel", it.wait_channel,
           "stack", it.stack);
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

// What a process did since it began.
struct Work {
    std::uint64_t main_switches = 0;  // context switches of its main thread, of both kinds
    std::uint64_t main_ticks = 0;     // clock ticks of CPU of its main thread
    std::uint64_t switches = 0;       // of all its threads
    std::uint64_t ticks = 0;
    std::uint64_t reaped_ticks = 0;  // of its children that ended and were waited for

    bool operator==(const Work&) const = default;
    static void fields(auto& io, auto& it) {
        io("main_switches", it.main_switches, "main_ticks", it.main_ticks, "switches", it.switches,
           "ticks", it.ticks, "reaped_ticks", it.reaped_ticks);
    }
};

// A GPU that a process may use.
struct GpuFacts {
    std::string name;     // as CUDA_VISIBLE_DEVICES or its like has it
    std::string pci{};    // empty: not known, and the rest with it
    std::string file{};   // "/dev/nvidia0"
    std::string model{};  // empty: not known

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

// A variable of a rank, its CPUs or its GPUs that are not as they were or as they should be.
struct Change {
    enum class Since : std::uint8_t {
        start,    // when the task began
        given,    // what distgpu gave the task
        planned,  // what distgpu plans for this rank
        others,   // what most ranks of the step have
    };
    Since since = Since::start;
    std::string name;                   // of a variable, or "CPUs"
    std::optional<std::string> then{};  // nothing: it was not set
    std::optional<std::string> now{};   // nothing: it is not set

    bool operator==(const Change&) const = default;
    static void fields(auto& io, auto& it) {
        io("since", it.since, "name", it.name, "then", it.then, "now", it.now);
    }
};
std::string_view name_of(Change::Since since);  // as in the code

// What a rank got, and what it has changed since: for `distgpu explain`.
struct RankFacts {
    std::optional<std::uint32_t> local_rank{};
    std::optional<std::uint32_t> task{};   // SLURM_PROCID, else as slurmstepd counts
    std::vector<std::string> launchers{};  // "811 bash wrap.sh", the task's first process first
    std::string cpus{};                    // on which it may run now: "0-3"
    std::string cpus_then{};               // on which its task began; empty: not known
    std::vector<std::string> open_gpus{};  // device files that it holds open
    std::vector<Variable> variables{};     // by name
    std::vector<Change> changes{};
    bool is_hidden = false;  // its variables cannot be read

    bool operator==(const RankFacts&) const = default;
    static void fields(auto& io, auto& it) {
        io("local_rank", it.local_rank, "task", it.task, "launchers", it.launchers, "cpus", it.cpus,
           "cpus_then", it.cpus_then, "open_gpus", it.open_gpus, "variables", it.variables,
           "changes", it.changes, "hidden", it.is_hidden);
    }
};

struct ProcessLook {
    pid_t pid = 0;
    pid_t parent = 0;
    std::uint64_t begin = 0;  // clock ticks
    std::string name{};
    std::string command{};
    bool is_python = false;
    bool is_task = false;                       // the first process of its task
    std::optional<std::uint32_t> task{};        // Slurm's rank of the task that it belongs to
    std::optional<std::uint32_t> rank{};        // RANK
    std::optional<std::uint32_t> world_size{};  // WORLD_SIZE
    std::vector<Moment> moments{};              // one for each of the node's times
    std::vector<Connection> connections{};      // at the last moment
    std::optional<int> exit_code{};             // of one that has ended, as waitpid() has it
    std::vector<GpuFacts> gpus{};               // those that its variables name
    // Before the look and after it, which itself makes the process switch: between the end of one
    // look and the beginning of another stands what the process did by itself.
    Work work_before{};
    Work work_after{};
    std::optional<RankFacts> facts{};  // of a rank, for `distgpu explain`

    bool operator==(const ProcessLook&) const = default;
    static void fields(auto& io, auto& it) {
        io("pid", it.pid, "parent", it.parent, "begin", it.begin, "name", it.name, "command",
           it.command, "python", it.is_python, "first", it.is_task, "task", it.task, "rank",
           it.rank, "world_size", it.world_size, "moments", it.moments, "connections",
           it.connections, "exit_code", it.exit_code, "gpus", it.gpus, "work_before",
           it.work_before, "work_after", it.work_after, "facts", it.facts);
    }
};

// How busy a GPU was, as NVIDIA's library tells it: percent of the last moments, at each of the
// node's times; nothing: it did not tell.
struct GpuLook {
    std::string pci;
    std::vector<std::optional<std::uint32_t>> busy{};

    bool operator==(const GpuLook&) const = default;
    static void fields(auto& io, auto& it) { io("pci", it.pci, "busy", it.busy); }
};

struct NodeLook {
    std::string node;
    std::string spec{};                  // by which distgpu prepared the tasks: for explain
    std::vector<double> times{};         // of the moments, seconds
    std::vector<std::uint32_t> tasks{};  // Slurm's ranks that were started here
    std::vector<ProcessLook> processes{};
    std::vector<Stack> stacks{};
    std::vector<GpuLook> gpus{};  // that processes may use; empty: the library is not there
    std::string problem{};        // why there are no stacks, or no look at all; empty: nothing
    std::uint64_t traffic = 0;    // bytes between the first and the last moment
    std::string nccl{};           // the status of the whole job, lines; empty: not asked
    std::vector<std::string> records{};  // files of torch's flight recorder

    // From the first moment to the last.
    double seconds() const { return times.empty() ? 0 : times.back() - times.front(); }

    bool operator==(const NodeLook&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "spec", it.spec, "times", it.times, "tasks", it.tasks, "processes",
           it.processes, "stacks", it.stacks, "gpus", it.gpus, "problem", it.problem, "traffic",
           it.traffic, "nccl", it.nccl, "records", it.records);
    }
};

// Null: it is not there.
const ProcessLook* find_process(const NodeLook& look, pid_t pid);

// Whether `top` is among the processes above one.
bool is_below(const NodeLook& look, const ProcessLook& process, pid_t top);

// "811 bash wrap.sh" of the processes above one, up to `first` if that is given; the outermost
// first, up to 16.
std::vector<std::string> launchers_of(const NodeLook& look, const ProcessLook& process,
                                      pid_t first = 0);

JsonText to_json(const NodeLook& look);
template <class Part>  // Variable, Change, Connection or GpuLook
JsonText to_json(const Part& part);

// Nothing: the text is not of this release.
std::optional<NodeLook> read_node_look(std::string_view text);

struct RankLook {
    std::uint32_t rank = 0;
    const NodeLook* node = nullptr;
    const ProcessLook* process = nullptr;
    std::vector<const ProcessLook*> workers{};  // Python processes below it, as a DataLoader's
};

struct Ranks {
    std::vector<RankLook> seen{};          // ascending
    std::vector<std::uint32_t> missing{};  // ascending; up to 65,536
    std::uint64_t expected = 0;
};

// Whether it was stopped, or in a call that cannot be interrupted: nothing of it can move then.
bool stands(const ProcessLook& process);

// Whether it had not ended at the last moment.
bool is_there(const ProcessLook& process);

// By RANK where a process has it, as below torchrun, else by Slurm's number of its task. A rank's
// process is the eldest Python of it, else the eldest that is no shell or launcher. `tasks`: the
// step's. Of a component of a heterogeneous step (`is_component`), whose ranks count on over those
// of the others, nobody can tell which are missing. The result points into `looks`.
Ranks find_ranks(std::span<const NodeLook> looks, std::uint32_t tasks, bool is_component = false);

// Looks at a step's processes on this node: at once, then about once a second until `length` is
// over, at times that no loop of the program's keeps step with. Of no length it looks once, and
// does not ask NCCL. Where something cannot be seen, the look says so. `environment`: this
// process's. Error: the step belongs to another user.
Result<NodeLook> look_here(const std::string& node, const std::string& step,
                           std::chrono::seconds length, const Environment& environment);

}  // namespace distgpu
