// How many processes a launcher starts on a node, and how many threads each process has.
#pragma once

#include "mapping/binding/node_facts.h"
#include "mapping/request/request.h"
#include "mapping/topology/cpu_set.h"

#include <cstdint>

namespace distgpu {

// Those of a launcher: as asked for, else one for each GPU, else one for each CPU.
std::uint32_t processes_on(const Request& request, const NodeFacts& node);

// CPUs of the task that gets most, where the node's `local_tasks` tasks share those of the step as
// far as Slurm lets each run on them.
std::uint32_t cpus_of_each(const NodeFacts& node, std::uint32_t local_tasks);

// OMP_NUM_THREADS of each process of one of the node's `local_tasks` tasks; 0: it is left alone.
// `cpus_of_task`: where the task will run; null: not known.
std::uint32_t threads(const Request& request, const NodeFacts& node, std::uint32_t local_tasks,
                      const CpuSet* cpus_of_task);

}  // namespace distgpu
