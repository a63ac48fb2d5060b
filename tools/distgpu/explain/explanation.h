// What the ranks of a step were given, and what has changed since they began.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "found_job.h"
#include "inspect/ended.h"
#include "inspect/node_sample.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Whether the variable is set by distgpu, a framework's mode or a launcher, or tunes communication
// and threads: NCCL_*, GLOO_*, UCX_*, OMP_*, CUDA_* and their like.
bool is_reported_variable(std::string_view name);

// Whether distgpu and the launchers leave the variable the same for all ranks of a step.
bool is_step_wide(std::string_view name);

// The reported variables of an environment, sorted by name. A long value is cut, and ends with its
// length and hash.
std::vector<Variable> reported_variables(const EnvironmentCopy& environment);

// The changed variables, sorted by name, each once, without those that a launcher sets for the
// ranks that it starts: those that differ from what the plugin recorded, the task's first process
// had, distgpu gave, or plans; the first of these counts. `task`, `rank`: environments of the
// task's first process and of the rank's process; `framework`: null if distgpu did not prepare the
// step; `plan`: of the task, null if unknown.
std::vector<Change> changed_variables(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                                      const Framework* framework, const TaskPlan* plan = nullptr);

// Empty if the CPUs are the same, or one of the sets is unknown (empty).
std::vector<Change> changed_cpus(const CpuSet& then, const CpuSet& now);

// The GPUs of a rank.
struct RankGpus {
    std::uint32_t rank = 0;
    std::vector<GpuFacts> gpus{};               // that it may use
    std::size_t step_gpus = 0;                  // of the step on this node; 0 if unknown
    std::optional<std::string> hiding_value{};  // of a CUDA_VISIBLE_DEVICES that hides all GPUs
};

// For each rank of a node: that it sees no GPU of the step, or the same ones as others, more than
// necessary. A GPU may have several ranks if the node has more ranks than GPUs.
std::vector<std::optional<Change>> crowded_gpus(const std::vector<RankGpus>& ranks);

// Finds the ranks of the step on this node (find_step_processes()) and collects their facts.
// `environment`: of this process. Takes up to some seconds if it must discover the topology.
Result<NodeSample> collect_rank_facts(const std::string& node, const std::string& step,
                                      const Environment& environment);

struct ExplainedRank {
    std::uint32_t rank = 0;
    std::string node;
    pid_t pid = 0;
    std::string command;
    std::vector<GpuFacts> gpus;
    RankFacts facts;
};

struct ExplainedGroup {
    std::vector<std::uint32_t> ranks;  // ascending
    std::vector<std::string> nodes;    // each once
    std::vector<std::string> changes;  // sentences; empty if nothing changed
    std::vector<std::size_t> members;  // indices into Explanation::ranks
};

struct Explanation {
    std::string spec;                    // empty if distgpu did not prepare the step
    std::vector<ExplainedRank> ranks;    // ascending
    std::vector<ExplainedGroup> groups;  // those with changes first, then by size
    std::vector<std::string> silent;     // nodes that did not answer
    std::vector<MissingRank> missing;    // ascending
    std::vector<Zombie> zombies;         // empty if no rank is missing
    std::vector<std::string> endings;    // sentences about the missing ranks
    std::vector<std::string> notes;      // what could not be read, and why
    std::uint32_t nodes = 0;
    std::uint64_t expected = 0;  // ranks
};

// `samples`: from collect_rank_facts(). `tasks`: of the step. `is_component`: of a heterogeneous
// step: which of its ranks are missing is unknown, but tasks that have ended are counted.
Explanation explain(const std::vector<NodeSample>& samples, const std::vector<std::string>& silent,
                    std::uint32_t tasks, bool is_component = false);

// "rank 3 on node02 has ended", "ranks 2-3: no process of them was seen", and processes that ended
// but are no rank's. Ranks of the same state share a sentence.
std::vector<std::string> ending_sentences(const std::vector<MissingRank>& missing,
                                          const std::vector<Zombie>& zombies);

// "Tree", "not set", "empty".
std::string value_text(const std::optional<std::string>& value);

// "NCCL_ALGO is Tree, and was not set when the task began".
std::string to_text(const Change& change);

// The changes, a table of the groups, and what could not be read; as text, or as JSON in the schema
// distgpu.explain/1 with details of `ranks`. `step`: its name. `colour`: for a terminal.
std::string explanation_text(const std::string& step, const Explanation& explanation, bool colour);
std::string explanation_json(const ResultHead& head, const Explanation& explanation,
                             const std::vector<ExplainedRank>& ranks);

// Details of one rank, with all its variables.
std::string rank_text(const Explanation& explanation, const ExplainedRank& rank, bool colour);

}  // namespace distgpu
