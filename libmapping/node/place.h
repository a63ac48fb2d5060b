// Where this process stands among those that were launched together, from the variables of the
// launcher that started it.
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

struct Place {
    Launcher launcher = Launcher::none;
    StepLayout layout;
    NodeIndex node;
    LocalRank local;
    StepId step{};                // all zero without Slurm
    bool knows_hosts = false;     // else the other nodes' names in the layout are made up
    std::string rank0_address{};  // NodeAddr, where srun sent it; empty: not known
};

// `host`: this machine's name. mpirun, flux and Hydra tell a process how many there are, and how
// many of them on its node, but nothing of the other nodes: they are taken to have equally many,
// dealt in blocks. Within a Slurm job those are the job's nodes.
// `query`: asked where the variables of a step of srun do not tell its layout.
// Errors: variables that contradict each other or what is said above; those of the query.
Result<Place> find_place(const Environment& environment, const std::string& host,
                         const StepQuery& query);

}  // namespace distgpu
