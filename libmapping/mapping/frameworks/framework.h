// The contract between distgpu and a training framework: which variables a task gets, which
// inherited ones must go, and what the step has to look like. One framework is one constant record
// in this folder. Adding one: its record, its declaration below, its row in framework.cpp.
#pragma once

#include "mapping/layout/hostlist.h"

#include <string_view>

namespace distgpu {

class StepLayout;
struct DeviceValues;
struct Framework;
struct LauncherOptions;
struct Request;

// What decides how many tasks a step has: srun takes a number of tasks before --ntasks-per-node.
enum class TasksFrom : std::uint8_t {
    nodes,  // --ntasks-per-node, or nobody
    line,   // --ntasks on srun's own line
    job,    // SLURM_NTASKS, which srun inherits from its job
};

// What is known of a step before it is launched, for a contract to judge.
struct StepFacts {
    std::string mpi_type;       // srun's --mpi or its default ("none", "pmix"); empty: not known
    std::string cpus_per_node;  // SLURM_JOB_CPUS_PER_NODE, as "8(x2),4"; empty: not known
    std::string job_name{};     // SLURM_JOB_NAME; empty: not known
    // NodeAddr of each node, by NodeIndex; empty: the nodes are reached by their names.
    HostList node_addresses{};
    std::vector<std::string> program{};  // with its arguments; empty: not known
    std::uint32_t allocated_nodes = 0;   // 0: the user chose the step's nodes, or it is not known
    // `distgpu exec` is put before a service's program that lacks it (Slurm 23.11 and newer).
    bool puts_exec_in_front = false;
    bool size_by_default = false;  // nobody gave the step's number of nodes, tasks or GPUs
    TasksFrom tasks_from = TasksFrom::nodes;
    // One task, in a job that asked for distgpu, whose own srun line does not: seldom a training.
    bool is_helper = false;

    bool operator==(const StepFacts&) const = default;
};

struct StepView {
    const Request& request;
    const StepLayout& layout;
    const StepFacts& facts;
    // How the tasks reach each node, by NodeIndex; empty where the framework does not name them.
    const HostList& addresses;
};

// Everything a contract may turn into a variable's value, for one task.
struct TaskContext {
    GlobalRank rank;                     // 0 .. world_size-1
    std::uint32_t world_size = 0;        // tasks of the step
    LocalRank local_rank;                // 0 .. local_world_size-1
    std::uint32_t local_world_size = 0;  // tasks of the step on this node
    NodeRank node_rank;                  // 0 .. node_count-1
    std::uint32_t node_count = 0;
    std::string_view node_name;       // this node's host name, with the suffix of master=suffix:S
    std::string_view reachable_as;    // how the other nodes reach this one
    std::string_view master_address;  // host name, IPv4 or bare IPv6 address
    std::uint16_t master_port = 0;
    std::uint32_t processes_per_node = 0;   // what a per-node launcher starts here
    std::string_view step_name;             // "JOBID.STEPID"
    std::uint32_t gpus = 0;                 // GPUs that the task sees; 0: none or not known
    std::uint32_t cpus = 0;                 // CPUs of the step on this node
    std::uint64_t memory = 0;               // of the step on this node, in MiB; 0: not known
    std::uint32_t threads = 0;              // OMP_NUM_THREADS of a process; 0: leave it alone
    const DeviceValues* devices = nullptr;  // what binding chose; null: nothing
    NodeIndex node;
    const StepView* step = nullptr;   // the whole step
    std::string_view node_address{};  // this node's NodeAddr; its name where that is not known
    // One of the step's ports that its framework leaves free; nothing: there is none.
    std::optional<std::uint16_t> spare_port{};
};

// One variable that a framework's tasks get.
struct SetVariable {
    std::string_view name;
    std::string_view meaning;  // for documentation: a phrase without a full stop
    // Nothing: this task does not get the variable.
    std::optional<std::string> (*value)(const TaskContext&);
    bool users_own = false;         // stays as it is where the user exported it
    std::string_view older_name{};  // the export of which counts too; empty: it had none
};

// Variables that must not reach the program although they were inherited.
struct UnsetVariable {
    std::string_view name;    // ends with '*' for every variable with that prefix
    std::string_view reason;  // for documentation: what goes wrong otherwise
};

// An option of a program that reads its place from its command line and not from variables.
struct ProgramOption {
    std::string_view name;     // as distgpu writes it: "--node-rank"
    std::string_view others;   // how the user may write it besides, between blanks: "-r"
    std::string_view meaning;  // for documentation: a phrase without a full stop
    // Nothing: this node's program does not get it; empty: it has no value.
    std::optional<std::string> (*value)(const TaskContext&);
    // Each node has another value, so that the user, whose line is the same for all, has none.
    bool of_the_node = false;
};

// A secret word. Without one, whoever reaches the ports of the service can run code in it.
struct ServiceToken {
    std::string_view variable;          // that holds it
    std::string_view mode_variable;     // that has "token" where the service asks for it
    std::string_view address_variable;  // by which another step finds the service
    // A command that an older companion ends with status 2; and what the user is then told.
    std::span<const std::string_view> query;
    std::string_view unknown;
};

// A program on every node that `distgpu exec` starts, with options, and ends.
struct Service {
    std::span<const ProgramOption> options{};
    // A program of the framework's that gets these options and runs on every node, below the
    // user's, which runs on rank 0's node alone and whose end is the step's. Empty: it is the
    // user's that gets them and runs on every node.
    std::span<const std::string_view> companion{};
    std::string_view up_text{};        // what the companion prints once it is ready
    std::string_view folder_option{};  // by which rank 0's node gets the step's folder
    // The variable that names the parent of the step's private folder on a node, which is removed
    // at the end. Without a companion the program gets the private folder in this variable, for its
    // temporary files.
    std::string_view folder_variable{};
    std::size_t longest_folder = 0;       // of its path in bytes, for the sockets in it
    const ServiceToken* token = nullptr;  // null: it knows none
    // Those of `options` that say where rank 0's node answers requests.
    std::string_view host_option{};
    std::string_view port_option{};
    std::string_view health{};  // the path that answers with status 200 once it is ready
};

// A key of SPEC by which the user takes another contract of the same framework.
struct Variant {
    std::string_view key;  // as the user writes it: "per-node", "backend=gloo"
    const Framework* framework;
};

struct Framework {
    std::string_view mode;     // the words in SPEC; of a variant with its key
    std::string_view summary;  // one line of help
    std::span<const std::string_view> aliases{};
    // Keys of SPEC that not every framework takes, the variants' included.
    std::span<const std::string_view> keys{};
    std::span<const Variant> variants{};
    bool launcher_per_node = false;  // its own launcher runs once a node, starts the processes
    // That launcher, as launchers.h reads it, the usual way to write it first; none: any program.
    std::span<const std::string_view> launchers{};
    // What its own options say of the step, which may differ; null: it is not read.
    const LauncherOptions* launcher_options = nullptr;
    bool scripts_launch = false;  // plain Python fits as well
    // Programs that start ranks themselves; srun starts the tasks instead.
    std::span<const std::string_view> replaces{};
    // What `distgpu exec` has to do for it; null: nothing, the variables are enough.
    const Service* service = nullptr;
    bool one_gpu_per_task = false;    // every task uses the one with its local rank's number
    bool chooses_threads = false;     // it chooses OMP_NUM_THREADS itself
    bool for_cpus_too = false;        // its programs are often for CPUs
    std::uint16_t ports = 1;          // from MASTER_PORT on, on which rank 0's node listens
    bool ports_on_all_nodes = false;  // not on rank 0's alone
    bool port_per_task = false;       // every task listens on MASTER_PORT + its local rank
    // Where its processes have their ranks from, if not from what the contract sets: "JAX takes its
    // ranks from SLURM_PROCID"; and what to do where another order of them is wanted.
    std::string_view own_ranks{};
    std::string_view instead_of_order = "leave it out";
    bool names_all_nodes = false;  // the contract names the address of every node
    std::span<const SetVariable> sets{};
    std::span<const UnsetVariable> unsets{};
    // Refuses a step that the framework cannot run in; null: any step will do.
    std::optional<Error> (*refuse)(const StepView&) = nullptr;
    // Warns of a step in which the framework may not do what was meant; null: none is known.
    std::optional<Error> (*warn)(const StepView&) = nullptr;
};

extern const Framework pytorch;
extern const Framework torchrun;
extern const Framework lightning;
extern const Framework accelerate;
extern const Framework deepspeed;
extern const Framework megatron;
extern const Framework composer;
extern const Framework ompi;
extern const Framework horovod;
extern const Framework tensorflow;
extern const Framework jax;
extern const Framework ray;
extern const Framework vllm;
extern const Framework sglang;

// All frameworks, in the order of the help text; variants hang on their framework.
std::span<const Framework* const> frameworks();

// The framework whose mode or alias is `word`, or null.
const Framework* find_framework(std::string_view word);

// How a message names the mode, which is not off: "--distgpu=tf".
std::string option_of(const Request& request);

// What the tasks of every framework get besides, of the process itself.
std::span<const SetVariable> common_variables();

}  // namespace distgpu
