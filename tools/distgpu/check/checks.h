// The checks of `distgpu check`: their list, their input and their findings. To add one, write its
// record in a file here, and add its name below and its place in all_checks(). The records call the
// functions at the end for this machine; tests call them for a made-up one.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"
#include "node/own_task.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Finding {
    enum class Severity : bool {
        warning,  // the program runs, perhaps slowly or not as intended
        fatal,    // the framework hangs or exits, or one node would hold the others back
    };
    Severity severity = Severity::fatal;
    Error error;
    // The name of the check that found it, or "plugin", "names" or "reports" if found before them.
    std::string check{};

    bool operator==(const Finding&) const = default;
    static void fields(auto& io, auto& it) {  // in a rank's report
        Error::fields(io, it.error);
        io("fatal", it.severity, "check", it.check);
    }
};

using Findings = std::vector<Finding>;

inline bool is_fatal(const Finding& finding) {
    return finding.severity == Finding::Severity::fatal;
}
inline Finding fatal(std::string object, std::string problem, std::string remedy,
                     std::string_view check = "") {
    return {Finding::Severity::fatal, {object, problem, remedy}, std::string(check)};
}
inline Finding warning(std::string object, std::string problem, std::string remedy,
                       std::string_view check = "") {
    return {Finding::Severity::warning, {object, problem, remedy}, std::string(check)};
}
bool has_fatal(const Findings& findings);
void add_finding(Findings& findings, std::optional<Finding> finding);

// The input of a check, in addition to the machine itself.
struct CheckFacts {
    std::shared_ptr<const OwnTask> own_task;
    std::shared_ptr<const Environment> environment;
    CpuSet cpus;  // on which this process may run; empty if unknown
    Deadline deadline;
    bool in_container = false;  // the task is in one, and this process is not
};

// A property that should be the same on all nodes of a step, with its value on one of them.
struct NodeTrait {
    std::string name;                                       // "GPUs"
    std::string value;                                      // "4 x H100"; "none"
    Finding::Severity severity = Finding::Severity::fatal;  // of a node with another value

    bool operator==(const NodeTrait&) const = default;
    static void fields(auto& io, auto& it) {
        io("name", it.name, "value", it.value, "fatal", it.severity);
    }
};

struct CheckResult {
    Findings findings{};
    std::string ports{};  // from `fabric`: those that NCCL can use, "mlx5_0:1 400 Gb/s +3"
    // From `fabric`: what NCCL takes between nodes, if not these: "sockets over eth0 (no plugin for
    // EFA)".
    std::string network{};
    std::vector<NodeTrait> traits{};  // from `nodes`
    std::string trial_host{};         // from `network`: where other nodes connect; empty if unknown
    // Likewise: of the other interfaces over which NCCL would send, "eth1=10.0.0.1".
    std::vector<std::string> more_hosts{};
};

struct NamedCheck {
    std::string_view name;
    std::string_view description;  // one sentence that says what has to be true
    bool (*applies)(const CheckFacts& facts);
    // Runs in a separate thread, which is left running if it does not return in time.
    CheckResult (*run)(const CheckFacts& facts);
};

inline bool applies_always(const CheckFacts& /*facts*/) {
    return true;
}

extern const NamedCheck variables_check;
extern const NamedCheck ports_check;
extern const NamedCheck cpus_check;
extern const NamedCheck limits_check;
extern const NamedCheck gpus_check;
extern const NamedCheck memory_check;
extern const NamedCheck nvlink_check;
extern const NamedCheck fabric_check;
extern const NamedCheck interfaces_check;
extern const NamedCheck names_check;
extern const NamedCheck nodes_check;
extern const NamedCheck network_check;

using Checks = std::vector<const NamedCheck*>;

// In the order in which a rank runs them.
std::span<const NamedCheck* const> all_checks();

// The checks that the options --only and --skip choose, in the order of all_checks(). Each option
// is a comma-separated list, or nullopt if not given. Error: unknown name of a check.
Result<Checks> choose_checks(const std::optional<std::string>& only,
                             const std::optional<std::string>& skip);

// One line per check, with its name and description.
std::string list_of_checks();

// Finds variables that are missing or left over, and ranks that differ from Slurm's.
Findings check_variables(const Environment& environment, const OwnTask& own_task);

// The error of a task that the plugin should have prepared, but that runs on a node whose slurmd
// has not loaded it.
Error missing_plugin_error(const Environment& environment);

// Whether the task's CPUs are enough for --cpus-per-task, OMP_NUM_THREADS and its GPU.
Findings check_cpus(const Environment& environment, const CpuSet& cpus);

// Whether the task may open enough files, and has room for shared memory. `open_files`: the limit.
Findings check_limits(std::uint64_t open_files, const MachineRoots& roots = {});

// The remedy if a port on which this task's program will listen is in use.
std::string port_in_use_remedy(const OwnTask& own_task);

// The number of GPUs that the task's variables name. `topology`: null if unknown.
std::uint32_t visible_gpu_count(const Environment& environment, const NodeTopology* topology);

// Opens the device nodes of the task's GPUs (NVIDIA: /dev/nvidiaN and nvidiactl, AMD: kfd and the
// GPU's DRM render node, Intel: the render node), which a broken driver may delay.
// `topology`: null if unknown; Slurm's numbers are then used as those of the device nodes.
Findings check_gpus(const Environment& environment, const NodeTopology* topology,
                    const MachineRoots& roots = {});

// Queries NVIDIA's library (NVML) for the GPUs that the task's variables name by number. A GPU with
// more than a tenth of its memory in use before the program starts is a finding; the driver itself
// uses less. GPUs that several jobs share are skipped.
Findings check_gpu_memory(const Environment& environment, const NodeTopology& topology,
                          const std::string& library = "libnvidia-ml.so.1");

// A warning if the step has GPUs and its node also has some of another vendor, which are left out.
std::optional<Finding> check_other_gpus(const Environment& environment,
                                        const NodeTopology& topology);

// Whether NCCL can use NVLink between nodes, if it connects this node's GPUs to those of others
// (GB200 NVL72): NVIDIA's driver asks for a channel of IMEX, its service that shares the memory of
// GPUs between nodes. Not if NCCL_MNNVL_ENABLE=0 makes NCCL use the network instead.
Findings check_nvlink(const Environment& environment, const NodeTopology& topology,
                      const MachineRoots& roots = {},
                      const std::string& library = "libnvidia-ml.so.1");

// What InfiniBand needs of this process besides device nodes.
struct FabricAccess {
    bool verbs_library = false;       // libibverbs.so.1 can be loaded
    std::uint64_t locked_memory = 0;  // bytes that may be locked; UINT64_MAX if unlimited
};

// Whether NCCL can use this node's InfiniBand or RoCE ports, or falls back to sockets. `allowed`:
// the value of NCCL_IB_HCA.
CheckResult check_fabric(const NodeTopology& topology, const FabricAccess& access,
                         const std::string& allowed = "", const MachineRoots& roots = {});

// Whether NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME each name one of `interfaces`, and NCCL's first
// is not the loopback.
Findings check_interfaces(const Environment& environment,
                          const std::vector<std::string>& interfaces, bool has_other_nodes = true);

// If NCCL sends by sockets over the interface `used`: whether another of `interfaces` is at least
// four times as fast. `name_of`: the host name of an interface's address, empty if it has none;
// called for one interface.
std::optional<Finding> check_faster_interface(
    const std::string& used, const std::vector<std::string>& interfaces, const std::string& host,
    const std::function<std::string(const std::string& interface)>& name_of,
    const MachineRoots& roots = {});

struct NameCheckFacts {
    std::string host;             // this node's host name
    bool has_other_nodes = true;  // the step does, and they have to reach the addresses
    bool runs_rank0 = false;      // this node does
};

// The object of findings about the rendezvous: "rendezvous address node01".
std::string rendezvous_object(const Rendezvous& rendezvous);

// Whether the rendezvous address and this host's own name resolve, on this node, to addresses that
// other nodes can reach.
Findings check_names(const Environment& environment, const NameCheckFacts& node,
                     const Rendezvous& rendezvous, Deadline deadline);

// GPUs, HCA ports and firmware. `topology`: null if unknown; the result is then empty.
std::vector<NodeTrait> device_traits(const NodeTopology* topology, const MachineRoots& roots = {});

// The kernel, NVIDIA's driver and distgpu.
std::vector<NodeTrait> system_traits(const MachineRoots& roots = {});

// The variables NCCL_*, GLOO_* and UCX_* except those that distgpu gave this task.
NodeTrait communication_trait(const Environment& environment, const TaskPlan& task);

// `distgpu check --node` (node_health.cpp): the faults of this node, each in a few words: "GPU
// 0000:3b:00.0 (H100): gone from the PCI bus". `saved`: its topology at boot; null if unknown. GPUs
// and HCAs have to be on the bus, device nodes have to open, and ports that were active at boot
// have to be active now. In any case NVIDIA's library has to load if the kernel has its GPUs, and
// this process has to be able to connect to 127.0.0.1.
std::vector<std::string> node_faults(const NodeTopology* saved, const MachineRoots& machine = {});

// All faults of this node in one line, as Slurm's reason to drain it; empty if there are none. A
// check that takes more than two seconds is a fault: slurmd waits for a prolog, and runs a health
// check on all nodes. Errors: no fault, but no topology was saved since the boot.
Result<std::string> check_own_node(const std::string& saved_topology);

}  // namespace distgpu
