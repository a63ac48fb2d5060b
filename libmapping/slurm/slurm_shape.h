// The shape of a Slurm step or allocation, from the variables that its processes have.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/rendezvous/rendezvous.h"
#include "slurm/shape_options.h"

#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// In which order the nodes get their tasks.
enum class NodeOrder {
    known,     // the options hold it
    of_step,   // this step's, which only slurmctld knows
    topology,  // the topology's, which nobody knows before the step starts
};

struct SlurmShape {
    ShapeOptions options;   // what the user gave, completed
    StepId step{};          // of an allocation its step 0
    bool own_step = false;  // the tasks of this step, as Slurm placed them
    NodeOrder order = NodeOrder::known;
    std::vector<std::string> read;  // the variables that had a part in it
};

// Completes what the user did not give. With nodes of their own, --nodes or --nodelist, nothing is
// read. Nothing: not in a job.
// Errors: an arbitrary distribution of an allocation, whose order stands in no variable, and none
// was given.
Result<std::optional<SlurmShape>> complete_from_slurm(ShapeOptions options,
                                                      const Environment& environment);

}  // namespace distgpu
