// The few questions that only Slurm's own library can answer, and in whose name they are asked.
// libslurm is not linked (its ABI changes with every release): the functions are looked up in the
// process that loaded the plugin, and an absent one is an answer too.
#pragma once

#include "base/result.h"
#include "mapping/binding/device_values.h"
#include "mapping/layout/step_layout.h"
#include "node/host_helper.h"
#include "spank_access.h"

namespace distgpu {

// Asks slurmctld for the layout of a step, one RPC (0.6 ms; 2-3 ms for 100,000 tasks). `component`:
// of a heterogeneous step inside one allocation; nothing for an ordinary step.
// Error: slurmctld did not answer, or not with a layout.
Result<StepLayout> query_layout(std::uint32_t job, std::uint32_t step,
                                std::optional<std::uint32_t> component);

// This node's name in slurm.conf, which a user cannot change as he can SLURMD_NODENAME; the host's
// name where slurm.conf does not have it (a dynamic node is called so). No RPC.
std::string node_name();

// NodeAddr of a node, or empty where Slurm does not tell. May cost one RPC.
std::string node_address(const std::string& node_name);

// NodeAddr of every node, in their order; of one that Slurm does not tell, its name.
// At most one RPC.
HostList node_addresses(const HostList& nodes);

// The same from slurm.conf alone, without an RPC.
std::string configured_node_address(const std::string& node_name);
HostList configured_node_addresses(const HostList& nodes);

// In slurmstepd: what Slurm's numbers of GPUs count (gres_use_local_device_index() of gres.c, 22.05
// to 26.05). Nothing: Slurm does not tell.
std::optional<Numbering> gpu_numbering();

// In slurmstepd: whether GPUs are among the resources that Slurm gives to those who ask for them
// (GresTypes). False where it does not tell.
bool gives_gpus();

// The leader of the heterogeneous job of which this job is a component, one RPC. Nothing: it is not
// one, or slurmctld did not answer.
std::optional<std::uint32_t> het_leader(std::uint32_t job);

// Asks slurmctld to end a step on all its nodes, one RPC.
void end_step(std::uint32_t job, std::uint32_t step);

// Lets this thread of slurmstepd act as the user of its step for a while: munged and, with
// auth/slurm, slurmd's sack sign for the effective ids of the thread that connects, so that
// slurmctld answers what it would answer the user (PrivateData). Only this thread changes, and only
// where the process is root's; its real and saved ids stay, so that the user can neither signal nor
// trace it.
class AsUser {
  public:
    explicit AsUser(spank_t spank);
    ~AsUser();
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;

    // Whether this thread is the user's now.
    bool is_user() const { return is_user_; }

  private:
    bool is_user_ = false;
};

// The user of the step, for a process that shall never be root's again. Nothing: Slurm does not
// say.
std::optional<HelperUser> step_user(spank_t spank);

}  // namespace distgpu
