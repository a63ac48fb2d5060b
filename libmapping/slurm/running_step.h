// The running steps of a job, from what scontrol prints, and which of them a user means.
#pragma once

#include "base/result.h"
#include "mapping/layout/hostlist.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The name of a job or of a step, as users write it: "13", "12_3" (of an array), "13+1" (a
// component of a heterogeneous job); with a step "13.0", "13.batch", "13.0+1" (a component of a
// heterogeneous step), "13+1.0".
struct StepName {
    std::string job;        // "13", "12_3"
    std::string component;  // "1"; empty if not given
    std::string step;       // "0", "batch", "extern", "interactive"; empty for a job

    // nullopt for any other text, so also for what scontrol or srun could take for an option.
    static std::optional<StepName> parse(std::string_view text);
};

// A component of a heterogeneous job. Each has its own job number, which the ids of its steps have.
struct JobComponent {
    std::string leader;  // the first component's number, the only one that srun accepts
    std::string group;   // its number for srun's --het-group

    bool operator==(const JobComponent&) const = default;
};

// The part of a step that runs in one job, or in one component of a heterogeneous step inside a
// job.
struct StepPart {
    std::string id;   // "5.0", "5.batch"; "5.0+1" if heterogeneous, "4_3.0" in a job array
    std::string job;  // the job's number, in an array too: slurmstepd accepts nothing else
    HostList nodes;
    std::uint32_t tasks = 0;
    std::string name{};  // of its program, or as --job-name has it
    std::optional<JobComponent> component{};
    // How many tasks the earlier components have: slurmstepd numbers those of each from 0.
    std::uint32_t first_task = 0;

    // "0", "0+1", "batch".
    std::string_view step() const { return std::string_view(id).substr(id.find('.') + 1); }
    std::string numeric_id() const { return job + id.substr(id.find('.')); }
};

struct RunningStep {
    std::string id;               // "5.0", "4_3.0", "5+1.0"
    std::vector<StepPart> parts;  // one, or the components of a heterogeneous step in their order
    std::uint32_t tasks = 0;      // of all parts
    // Whether other components, which are not in `parts`, may have the other ranks of the world.
    bool is_component = false;
};

// Parses what `scontrol --oneliner show step JOB` prints. In an array, `job` is not the job's
// number yet. Up to Slurm 25.11 components of a heterogeneous step have different ids ("5.0+1").
std::vector<StepPart> parse_steps(std::string_view text);

// Parses what `scontrol --json show step JOB` prints, where 26.05 tells the components apart. Empty
// for any other text.
std::vector<StepPart> parse_steps_json(std::string_view text);

// The one step that the user means. `parts`: all of the job `job`, as squeue shows it ("5", "4_3");
// of a heterogeneous job those of its components, in their order. Without a step in the name it is
// the only step that srun started, except that a shell and distgpu itself give way to other
// programs; else salloc's shell; else the batch script. nullopt if no such step is running.
// Error (object: `written`): there are several.
Result<std::optional<RunningStep>> choose_step(const std::string& written, const StepName& name,
                                               const std::string& job, std::vector<StepPart> parts);

}  // namespace distgpu
