// Calls to Slurm's own library, and the user as whom they are made. libslurm is not linked, because
// its ABI changes with every release: the functions are looked up in the process that loaded the
// plugin, and may be absent.
#pragma once

#include "base/result.h"
#include "mapping/binding/device_values.h"
#include "mapping/layout/step_layout.h"
#include "node/host_helper.h"
#include "spank_access.h"

#include <chrono>
#include <ctime>

namespace distgpu {

// Asks slurmctld for the layout of a step, one RPC (0.6 ms; 2-3 ms for 100,000 tasks). `component`:
// of a heterogeneous step inside one allocation; nullopt for an ordinary step.
// Error: slurmctld did not answer, or its answer is not a valid layout.
Result<StepLayout> query_layout(std::uint32_t job, std::uint32_t step,
                                std::optional<std::uint32_t> component);

// This node's name in slurm.conf, which, unlike SLURMD_NODENAME, a user cannot change; the short
// host name if slurm.conf does not have it (the name of a dynamic node). No RPC.
std::string node_name();

// NodeAddr of a node; empty if Slurm does not report it. May cost one RPC.
std::string node_address(const std::string& node_name);

// NodeAddr of every node, in their order, or a node's name if Slurm does not report its address. At
// most one RPC.
HostList node_addresses(const HostList& nodes);

// The same without an RPC, as IP addresses: from slurm.conf, with the name of a single node looked
// up here. Empty where Slurm may know better: the cluster has nodes that are started when needed,
// whose addresses change, or a name does not have exactly one address that other nodes can reach.
HostList fixed_node_addresses(const HostList& nodes);

// Whether block steps follow the topology here, or may do so: from Slurm 26.05 on, with a topology
// plugin.
bool may_follow_topology();

// The same from slurm.conf alone, without an RPC.
std::string configured_node_address(const std::string& node_name);
HostList configured_node_addresses(const HostList& nodes);

// In slurmstepd: how Slurm numbers GPUs (gres_use_local_device_index() in gres.c, 22.05 to 26.05).
// nullopt if Slurm does not report it.
std::optional<Numbering> gpu_numbering();

// In slurmstepd: whether Slurm allocates GPUs (GresTypes). False if it does not report this.
bool allocates_gpus();

// Whether Slurm ends every step in which a task fails (KillOnBadExit). False if it does not report
// this.
bool kills_on_bad_exit();

// Whether the job is being ended: cancelled, preempted or at its time limit. One RPC. False if
// slurmctld did not answer.
bool is_job_ending(std::uint32_t job);

// When the job reaches its time limit. One RPC. nullopt if slurmctld did not answer.
std::optional<std::time_t> job_end_time(std::uint32_t job);

// The leader of the heterogeneous job of which this job is a component, one RPC. nullopt if it is
// not a component or slurmctld did not answer.
std::optional<std::uint32_t> het_leader(std::uint32_t job);

// Asks slurmctld to signal a step on all its nodes, one RPC. With proctrack/cgroup only the first
// process of each task gets another signal than SIGKILL, which ends the step at once.
void signal_step(std::uint32_t job, std::uint32_t step, std::uint16_t signal);

// In srun: whether a parallel debugger has started it (the MPIR process acquisition interface).
bool is_debugged();

// Between SIGTERM and SIGKILL, as Slurm ends jobs (KillWait). 30 s if Slurm does not report it.
std::chrono::seconds kill_wait();

// Lets this thread of slurmstepd act as the user of its step during the object's lifetime: munged
// and, with auth/slurm, slurmd's sack sign for the effective ids of the connecting thread, so that
// slurmctld answers only what it would answer the user (PrivateData). Changes only this thread, and
// only if the process is root's; its real and saved ids stay, so that the user can neither signal
// nor trace it.
class AsUser {
  public:
    explicit AsUser(spank_t spank);
    ~AsUser();
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;

    // Whether this thread acts as the user now.
    bool is_user() const { return is_user_; }

  private:
    bool is_user_ = false;
};

// The user of the step, for a process that must never be root's again. nullopt if Slurm does not
// report it.
std::optional<HelperUser> step_user(spank_t spank);

}  // namespace distgpu
