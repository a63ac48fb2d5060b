// Lets a thread of slurmstepd act as the user of its step for a while: what it asks slurmctld then
// is answered as the user's own question would be, PrivateData and all.
#pragma once

#include "node/host_helper.h"
#include "spank_access.h"

#include <optional>

namespace distgpu {

// Both munged and, with auth/slurm, slurmd's sack sign for the effective ids of the thread that
// connects (slurmstepd is a client in auth_slurm.c). Only this thread changes, and only where the
// process is root's; its real and saved ids stay, so that the user can neither signal nor trace it.
class AsUser {
  public:
    explicit AsUser(spank_t spank);
    ~AsUser();
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;

    // Whether this thread is the user's now.
    bool done() const { return done_; }

  private:
    bool done_ = false;
};

// The user of the step, for a process that shall never be root's again. Nothing: Slurm does not
// say.
std::optional<HelperUser> step_user(spank_t spank);

}  // namespace distgpu
