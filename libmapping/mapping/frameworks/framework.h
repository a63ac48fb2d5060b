// The contract between distgpu and a training framework: which variables a task gets, which
// inherited ones are removed, and which steps are refused. A framework is one constant record in
// this folder. To add one: its record, its declaration below, its row in framework.cpp.
#pragma once

#include "base/text.h"
#include "mapping/layout/hostlist.h"

#include <string_view>

namespace distgpu {

class StepLayout;
struct DeviceValues;
struct Framework;
struct LauncherOptions;
struct Request;

// What sets a step's number of tasks. To srun, a total takes precedence over --ntasks-per-node.
enum class TaskCountSource : std::uint8_t {
    per_node,      // --ntasks-per-node, or the default
    command_line,  // --ntasks on srun's command line
    job,           // SLURM_NTASKS, which srun inherits from its job
};

// The facts about a step before its launch, from which a contract may refuse it.
struct StepFacts {
    std::string mpi_type;       // srun's --mpi or its default ("none", "pmix"); empty if unknown
    std::string cpus_per_node;  // SLURM_JOB_CPUS_PER_NODE, as "8(x2),4"; empty if unknown
    std::string job_name{};     // SLURM_JOB_NAME; empty if unknown
    // NodeAddr of each node, by NodeIndex; empty if the nodes are reached by their names.
    HostList node_addresses{};
    std::vector<std::string> program{};  // with its arguments; empty if unknown
    std::uint32_t allocated_nodes = 0;   // 0 if the user chose the step's nodes, or if unknown
    // srun inserts a missing `distgpu exec` before a service's program (Slurm 23.11 and newer).
    bool inserts_exec = false;
    bool has_default_size = false;  // the user gave no number of nodes, tasks or GPUs
    TaskCountSource task_count_source = TaskCountSource::per_node;
    // One task in a job that asked for distgpu, whose own srun command line does not: rarely a
    // training, so there are no warnings.
    bool is_helper = false;

    bool operator==(const StepFacts&) const = default;
};

struct StepView {
    const Request& request;
    const StepLayout& layout;
    const StepFacts& facts;
    // The address of each node for the tasks, by NodeIndex; empty if the framework needs none.
    const HostList& addresses;
};

// The facts about one task from which a contract computes the values of variables.
struct TaskContext {
    GlobalRank rank;                     // 0 .. world_size-1
    std::uint32_t world_size = 0;        // tasks of the step
    LocalRank local_rank;                // 0 .. local_world_size-1
    std::uint32_t local_world_size = 0;  // tasks of the step on this node
    NodeRank node_rank;                  // 0 .. node_count-1
    std::uint32_t node_count = 0;
    std::string_view node_name;  // this node's host name, with the suffix of master=suffix:S
    std::string_view reachable_address;  // by which the other nodes reach this one
    std::string_view master_address;     // host name, IPv4 or bare IPv6 address
    std::uint16_t master_port = 0;
    std::uint32_t processes_per_node = 0;   // that a per-node launcher starts here
    std::string_view step_name;             // "JOBID.STEPID"
    std::uint32_t gpus = 0;                 // GPUs that the task sees; 0 if none or unknown
    std::uint32_t cpus = 0;                 // CPUs of the step on this node
    std::uint64_t memory = 0;               // of the step on this node, in MiB; 0 if unknown
    std::uint32_t threads = 0;              // OMP_NUM_THREADS of a process; 0: leave it alone
    const DeviceValues* devices = nullptr;  // null: leave all of them alone
    NodeIndex node;
    const StepView* step = nullptr;
    std::string_view node_address{};  // this node's NodeAddr, or its name if that is unknown
    // A port of the step that its framework does not use; nullopt if there is none.
    std::optional<std::uint16_t> spare_port{};
};

// One variable that a framework's tasks get.
struct SetVariable {
    Text name;
    Text meaning;  // for documentation: a phrase without a full stop
    // nullopt: this task does not get the variable.
    std::optional<std::string> (*value)(const TaskContext&);
    bool users_own = false;  // left alone if the user exported it
    Text older_name{};       // left alone, too, if the user exported this one; may be empty
};

// An inherited variable that must not reach the program.
struct UnsetVariable {
    Literal<48> name;     // ends with '*' for every variable with that prefix
    Literal<104> reason;  // for documentation: what goes wrong otherwise
};

// An option that distgpu adds for a program which reads its place in the step only from options.
struct ProgramOption {
    Text name;      // as distgpu writes it: "--node-rank"
    Text synonyms;  // other names that the user may use, separated by blanks: "-r"
    Text meaning;   // for documentation: a phrase without a full stop
    // nullopt: this node's program does not get it; empty: an option without a value.
    std::optional<std::string> (*value)(const TaskContext&);
    // Nodes have different values, so that the user, with one command line for all, cannot set it.
    bool is_per_node = false;
};

// A secret token. Without it, everyone who can reach the ports of the service can run code in it.
struct ServiceToken {
    Text variable;          // that holds the token
    Text mode_variable;     // set to "token" to make the service require the token
    Text address_variable;  // by which another step finds the service
    // A command that ends with status 2 if the companion is too old for tokens, and the warning
    // then.
    std::span<const Text> query;
    Text outdated_warning;
};

// A program on every node that `distgpu exec` starts, with options, and ends.
struct Service {
    std::span<const ProgramOption> options{};
    // The framework's program, which runs on every node with these options. The user's program then
    // runs only on rank 0's node, and the step ends with it. Empty: the user's program runs on
    // every node and gets the options.
    std::span<const Text> companion{};
    Text ready_text{};     // what the companion prints once it is ready
    Text folder_option{};  // the option for the step's folder, on rank 0's node
    // The variable that names the parent of the step's private folder on a node, which is removed
    // at the end. Without a companion the program gets the private folder in this variable, for its
    // temporary files.
    Text folder_variable{};
    std::size_t max_folder_length = 0;    // of its path in bytes, for the sockets in it
    const ServiceToken* token = nullptr;  // null if it supports none
    // Those of `options` with the host and port on which rank 0's node answers requests.
    Text host_option{};
    Text port_option{};
    Text health_path{};  // URL path that answers with status 200 once it is ready
};

// A key of SPEC with which the user chooses another contract of the same framework.
struct Variant {
    Text key;  // as the user writes it: "per-node", "backend=gloo"
    const Framework* framework;
};

struct Framework {
    Text mode;     // as in SPEC; of a variant, with its key
    Text summary;  // one line of help
    std::span<const Text> aliases{};
    // Keys of SPEC that not every framework supports, including those of the variants.
    std::span<const Text> keys{};
    std::span<const Variant> variants{};
    bool launcher_per_node = false;  // its own launcher runs once per node and starts the processes
    // The command lines of that launcher, the usual one first; empty: any program.
    std::span<const Text> launchers{};
    // The launcher's options, to compare with the step; null: they are not parsed.
    const LauncherOptions* launcher_options = nullptr;
    bool scripts_can_launch = false;  // a Python script may start the processes, too
    // Launchers that start ranks on all nodes; srun starts the tasks instead.
    std::span<const Text> replaced_launchers{};
    // What `distgpu exec` has to start; null if the variables are enough.
    const Service* service = nullptr;
    bool one_gpu_per_task = false;    // every task uses the GPU with the number of its local rank
    bool chooses_threads = false;     // it sets OMP_NUM_THREADS itself
    bool also_for_cpus = false;       // its programs often use no GPU
    std::uint16_t ports = 1;          // from MASTER_PORT on, on which rank 0's node listens
    bool ports_on_all_nodes = false;  // on every node, not only on rank 0's
    bool port_per_task = false;       // every task listens on MASTER_PORT + its local rank
    // Why order= has no effect, if the ranks do not come from the contract's variables ("JAX takes
    // its ranks from SLURM_PROCID"), and what to do instead.
    Text fixed_ranks_reason{};
    Text order_remedy = "leave it out";
    bool names_all_nodes = false;  // a variable has the address of every node
    std::span<const SetVariable> sets{};
    std::span<const UnsetVariable> unsets{};
    // Refuses a step in which the framework cannot run; null: it runs in any step.
    std::optional<Error> (*refuse)(const StepView&) = nullptr;
    // Warns about a step that is probably not intended; null: no such step is known.
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

// All frameworks, in the order of the help text. Variants are listed in their frameworks.
std::span<const Framework* const> frameworks();

// The framework with this mode or alias; null if there is none.
const Framework* find_framework(std::string_view name);

// The mode in messages: "--distgpu=tf". Precondition: the mode is not off.
std::string option_of(const Request& request);

// Variables of the process itself that the tasks of every framework get.
std::span<const SetVariable> common_variables();

}  // namespace distgpu
