// What `distgpu check` looks at: the list of its checks, what a check is given, and what it finds.
// Adding one: its record in a file here, its name below, and its place in all_checks(). The records
// call the functions at the end for this machine; tests call them for one of their own.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"
#include "node/own_task.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Finding {
    enum class Weight : bool {
        warning,  // it runs, perhaps slowly or not as meant
        fatal,    // the framework hangs or ends, or one node would hold the others back
    };
    Weight weight = Weight::fatal;
    Error error;
    // The name of the check that found it, or "plugin", "names" or "reports" of what precedes them.
    std::string check{};

    bool operator==(const Finding&) const = default;
    static void fields(auto& io, auto& it) {  // of its report
        Error::fields(io, it.error);
        io("fatal", it.weight, "check", it.check);
    }
};

using Findings = std::vector<Finding>;

inline bool is_fatal(const Finding& finding) {
    return finding.weight == Finding::Weight::fatal;
}
inline Finding fatal(std::string object, std::string problem, std::string remedy,
                     std::string_view check = "") {
    return {Finding::Weight::fatal, {object, problem, remedy}, std::string(check)};
}
inline Finding warning(std::string object, std::string problem, std::string remedy,
                       std::string_view check = "") {
    return {Finding::Weight::warning, {object, problem, remedy}, std::string(check)};
}
bool any_fatal(const Findings& findings);
void add(Findings& findings, std::optional<Finding> finding);

// What a check is given, beside the machine itself.
struct CheckFacts {
    std::shared_ptr<const OwnTask> own;
    std::shared_ptr<const Environment> environment;
    CpuSet cpus;  // on which this process may run; empty: the kernel does not say
    Deadline deadline;
};

// Something that all nodes of a step should have alike, as one of them has it.
struct NodeTrait {
    std::string name;                                 // "GPUs"
    std::string value;                                // "4 x H100"; "none"
    Finding::Weight weight = Finding::Weight::fatal;  // of a node that has another one

    bool operator==(const NodeTrait&) const = default;
    static void fields(auto& io, auto& it) {
        io("name", it.name, "value", it.value, "fatal", it.weight);
    }
};

struct CheckResult {
    Findings findings{};
    std::string ports{};  // of `fabric`: those that NCCL can use, "mlx5_0:1 400 Gb/s +3"
    std::vector<NodeTrait> traits{};  // of `nodes`
    std::string trial_host{};         // of `network`: the address that others try; empty: none
};

struct NamedCheck {
    std::string_view name;
    std::string_view looks_at;  // one sentence
    bool (*applies)(const CheckFacts& facts);
    // Runs in a thread of its own, which goes on alone if it has not returned in time.
    CheckResult (*run)(const CheckFacts& facts);
};

inline bool always(const CheckFacts& /*facts*/) {
    return true;
}

extern const NamedCheck variables_check;
extern const NamedCheck ports_check;
extern const NamedCheck cpus_check;
extern const NamedCheck gpus_check;
extern const NamedCheck memory_check;
extern const NamedCheck fabric_check;
extern const NamedCheck interfaces_check;
extern const NamedCheck names_check;
extern const NamedCheck nodes_check;
extern const NamedCheck network_check;

using Checks = std::vector<const NamedCheck*>;

// In the order in which a rank runs them.
std::span<const NamedCheck* const> all_checks();

// Those that the options --only and --skip choose, each a list with commas; nothing: not given. In
// the order of all_checks(). Error: there is no check of that name.
Result<Checks> choose_checks(const std::optional<std::string>& only,
                             const std::optional<std::string>& skip);

// For people: a line for each, with its name and what it looks at.
std::string list_of_checks();

// Finds variables that are missing or left over, and ranks that are not Slurm's.
Findings check_variables(const Environment& environment, const OwnTask& own);

// The error of a task that srun asked the plugin to prepare, on a node whose slurmd has not loaded
// it.
Error no_plugin(const Environment& environment);

// Whether the task's CPUs are enough for --cpus-per-task, OMP_NUM_THREADS and its GPU.
Findings check_cpus(const Environment& environment, const CpuSet& cpus);

// What to do if a port is in use on which this task's program will listen.
std::string taken_port_remedy(const OwnTask& own);

// The number of GPUs that the task's variables name.
std::uint32_t given_gpus(const Environment& environment);

// Opens the device nodes of the task's GPUs (NVIDIA: /dev/nvidiaN and nvidiactl, AMD: kfd and the
// GPU's DRM render node, Intel: the render node), which a broken driver may delay.
// `topology`: null if it is not known; Slurm's numbers are then taken for those of the device
// nodes.
Findings check_gpus(const Environment& environment, const NodeTopology* topology,
                    const MachineRoots& roots = {});

// Asks NVIDIA's library (NVML) about the GPUs that the task's variables name by number. A GPU with
// more than a tenth of its memory in use before the program starts is a finding; the driver itself
// takes less. GPUs that several jobs share are left out.
Findings check_gpu_memory(const Environment& environment, const NodeTopology& topology,
                          const std::string& library = "libnvidia-ml.so.1");

// What the kernel and the system libraries give this process.
struct FabricAccess {
    bool verbs_library = false;       // libibverbs.so.1 can be loaded
    std::uint64_t locked_memory = 0;  // bytes that may be locked; UINT64_MAX: without limit
};

// Whether NCCL can use this node's InfiniBand or RoCE ports, or falls back to sockets.
CheckResult check_fabric(const NodeTopology& topology, const FabricAccess& access,
                         const MachineRoots& roots = {});

// Whether NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME each name one of `interfaces`.
Findings check_interfaces(const Environment& environment,
                          const std::vector<std::string>& interfaces);

struct NameCheck {
    std::string host;           // this node's host name
    bool several_nodes = true;  // else no other node needs to reach them
    bool runs_rank0 = false;    // this node does
};

// As findings name it: "rendezvous address node01".
std::string address_object(const Rendezvous& rendezvous);

// Whether the rendezvous address and this host's own name resolve, on this node, to addresses that
// other nodes can reach.
Findings check_names(const Environment& environment, const NameCheck& node,
                     const Rendezvous& rendezvous, Deadline deadline);

// GPUs, HCA ports and firmware. `topology`: null if it is not known; there are then no traits.
std::vector<NodeTrait> device_traits(const NodeTopology* topology, const MachineRoots& roots = {});

// The kernel, NVIDIA's driver and distgpu.
std::vector<NodeTrait> system_traits(const MachineRoots& roots = {});

// The variables NCCL_*, GLOO_* and UCX_* except those that distgpu gave this task.
NodeTrait communication_trait(const Environment& environment, const TaskPlan& task);

// `distgpu check --node` (node_health.cpp): what is wrong with this node, each in a few words: "GPU
// 0000:3b:00.0 (H100): gone from the PCI bus". `saved`: its topology at boot; null: not known. GPUs
// and HCAs are looked for on the bus, device nodes are opened, and ports that were active then have
// to be so now. Whatever was saved, NVIDIA's library has to load if the kernel has its GPUs, and a
// process here has to be reachable by 127.0.0.1.
std::vector<std::string> node_faults(const NodeTopology* saved, const MachineRoots& machine = {});

// All of them in one line, as Slurm takes a reason; empty: this node is well. What has not ended
// after two seconds is a fault: slurmd waits for a prolog, and runs a health check on all nodes.
// Errors: no fault, but no topology was saved since the boot.
Result<std::string> check_own_node(const std::string& saved_topology);

}  // namespace distgpu
