// The place of this process in its launch: which rank it has, on which node, and how the other
// ranks are laid out. Read from the variables of the launcher that started it.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "slurm/slurm_queries.h"

namespace distgpu {

enum class Launcher {
    mpirun,  // Open MPI's, or PRRTE's prterun
    flux,
    hydra,  // mpiexec of MPICH or Intel MPI
    slurm,  // srun
    none,   // a single process
};
std::string_view name_of(Launcher launcher);

struct ProcessPlace {
    Launcher launcher = Launcher::none;
    StepLayout layout;
    NodeIndex node;
    LocalRank local;
    StepId step{};                // all zero without Slurm
    bool knows_hosts = false;     // if not, the layout's names of other nodes are placeholders
    std::string rank0_address{};  // NodeAddr as srun sent it; empty if unknown
};

// `host`: this machine's name. mpirun, flux and Hydra pass a process the number of processes, in
// total and on its node, but nothing about other nodes: each is assumed to have the same number of
// ranks, in blocks. Within a Slurm job the nodes are those of the job.
// `query`: called if the variables of an srun step do not determine its layout.
// Errors: variables that contradict each other or this assumption; those of the query.
Result<ProcessPlace> find_process_place(const Environment& environment, const std::string& host,
                                        const StepQuery& query);

}  // namespace distgpu
