// What the ranks of a step got, and what is otherwise than when they began.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "inspect/look.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Whether a variable is one of those that distgpu, a framework's mode or a launcher sets, or by
// which users tune communication and threads: NCCL_*, GLOO_*, UCX_*, OMP_*, CUDA_* and their like.
bool is_told_of(std::string_view name);

// Whether all ranks of a step have the same of it, as far as distgpu and the launchers decide.
bool is_of_step(std::string_view name);

// Those of an environment, by name. A long value is cut, and ends with its length and a number that
// tells it from others.
std::vector<Variable> variables_told_of(const EnvironmentCopy& environment);

// Of variables, by name, each once. What a launcher gives the ranks that it starts is no change.
// `task`: those of the task's first process; `rank`: those of the rank's; `framework`: of the mode,
// null: distgpu did not prepare the step; `plan`: of the task, null: not known.
std::vector<Change> changed_variables(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                                      const Framework* framework, const TaskPlan* plan = nullptr);

// Of CPUs; nothing: they are the same, or one of them is not known.
std::vector<Change> changed_cpus(const CpuSet& then, const CpuSet& now);

// The step's processes on this node, its ranks with their facts, as find_step_processes() finds
// them. `environment`: this process's. Takes up to some seconds where the topology is discovered.
Result<NodeLook> explain_here(const std::string& node, const std::string& step,
                              const Environment& environment);

struct RankOfNode {
    std::uint32_t rank = 0;
    std::string node;
    pid_t pid = 0;
    std::string command;
    std::vector<GpuFacts> gpus;
    RankFacts facts;
};

struct ExplainedGroup {
    std::vector<std::uint32_t> ranks;    // ascending
    std::vector<std::string> nodes;      // each once
    std::vector<std::string> otherwise;  // sentences; none: all is as it began
    std::vector<std::size_t> members;    // indices into Explanation::ranks
};

struct Explanation {
    std::string spec;                    // by which distgpu prepared the step; empty: it did not
    std::vector<RankOfNode> ranks;       // ascending
    std::vector<ExplainedGroup> groups;  // the odd ones first, of these the smallest
    std::vector<std::string> silent;     // nodes without an answer
    std::vector<std::string> notes;      // what could not be seen, and why
    std::uint32_t nodes = 0;
};

// `looks`: of explain_here().
Explanation explain(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent);

// "Tree", "not set", "empty".
std::string value_text(const std::optional<std::string>& value);

// "NCCL_ALGO is Tree, and was not set when the task began".
std::string to_text(const Change& change);

// What is otherwise, a table of the groups, and what could not be seen; as JSON in the schema
// distgpu.explain/1, of these ranks. `step`: its name. `colour`: for a terminal.
std::string explanation_text(const std::string& step, const Explanation& explanation, bool colour);
std::string explanation_json(const std::string& step, const Explanation& explanation,
                             const std::vector<RankOfNode>& ranks);

// The same of one rank, with all its variables.
std::string rank_text(const Explanation& explanation, const RankOfNode& rank, bool colour);

}  // namespace distgpu
