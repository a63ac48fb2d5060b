// See topology_promises.h.
#include "topology_promises.h"

#include "mapping/topology/port_verdicts.h"
#include "plan_promises.h"
#include "require.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

constexpr std::uint32_t tasks = 3;
// Dealing them costs the cube of their number.
constexpr std::size_t most_gpus = 32;

void require_whole(const NodeTopology& topology) {
    for (const Core& core : topology.cores) {
        require(core.numa < topology.numas.size() && !core.cpus.empty(), "a core is somewhere");
    }
    require(topology.distances.size() == topology.gpus.size(), "a row of distances each GPU");
    for (const auto& row : topology.distances) {
        require(row.size() == topology.hcas.size(), "a distance for each HCA");
    }
    const auto verdicts = port_verdicts(topology);
    require(verdicts.size() == topology.hcas.size(), "a verdict of each HCA");
    for (std::size_t hca = 0; hca < verdicts.size(); ++hca) {
        require(verdicts[hca].size() == topology.hcas[hca].ports.size(), "and of each port");
    }
}

// The topology's CPUs, or, where it tells none, those that Slurm knows all the same.
CpuSet cpus_of(const NodeTopology& topology) {
    CpuSet cpus;
    for (const Core& core : topology.cores) cpus |= core.cpus;
    return cpus.empty() ? CpuSet::range(0, tasks) : cpus;
}

NodeFacts facts_of(const NodeTopology& topology) {
    NodeFacts facts;
    facts.topology = &topology;
    facts.cpus = cpus_of(topology).count();
    facts.confined = true;
    for (std::uint32_t i = 0; i < std::min(topology.gpus.size(), most_gpus); ++i) {
        facts.share.gpus.push_back(i);
        facts.gpu_names.names.push_back(std::to_string(i));
    }
    facts.gpus = static_cast<std::uint32_t>(facts.share.gpus.size());
    facts.gpu_names.variables = {"CUDA_VISIBLE_DEVICES"};
    return facts;
}

}  // namespace

void require_plans_on(const NodeTopology& topology) {
    require_whole(topology);
    auto layout =
        StepLayout::from_task_map(*HostList::parse("n[1-2]"), {TaskMapBlock{0, 2, tasks, 1}});
    const Step step{*std::move(layout)};
    NodeFacts facts = facts_of(topology);
    const CpuSet all = cpus_of(topology);
    facts.share.masks.assign(tasks, all);
    require_complete_plans(step, facts);
    const std::vector<std::uint32_t> cpus = all.cpus();
    for (std::uint32_t task = 0; task < tasks; ++task) {
        facts.share.masks[task] = CpuSet{cpus[task * cpus.size() / tasks]};
    }
    require_complete_plans(step, facts);
}

}  // namespace distgpu
