#include "het_step.h"

#include "base/format.h"
#include "slurm_calls.h"

#include <algorithm>
#include <vector>

namespace distgpu {
namespace {

Error refuse(std::uint32_t step, std::string problem, std::string remedy) {
    return {formatted("heterogeneous step {}", step), std::move(problem), std::move(remedy)};
}

// The job ids of a heterogeneous job's components, or none within an ordinary job.
std::vector<std::uint32_t> component_jobs(spank_t spank) {
    std::vector<std::uint32_t> jobs;
    constexpr std::size_t most = 128;  // Slurm's MAX_HET_JOB_COMPS
    while (jobs.size() < most) {
        // PACK_GROUP is the only name in the steps of an srun that made the job
        // itself (22.05); HET_GROUP is that of later releases.
        const std::string index = std::to_string(jobs.size());
        auto job = step_number(spank, ("SLURM_JOB_ID_HET_GROUP_" + index).c_str());
        if (!job) job = step_number(spank, ("SLURM_JOB_ID_PACK_GROUP_" + index).c_str());
        if (!job) break;
        jobs.push_back(*job);
    }
    return jobs;
}

// Components of a heterogeneous job: those of its jobs that run this step.
std::vector<StepLayout> layouts_of_jobs(const std::vector<std::uint32_t>& jobs, std::uint32_t step,
                                        std::uint32_t tasks) {
    std::vector<StepLayout> layouts;
    std::uint32_t found = 0;
    for (const std::uint32_t job : jobs) {
        if (found >= tasks) break;
        if (auto layout = query_layout(job, step, std::nullopt)) {
            found += layout->task_count();
            layouts.push_back(*std::move(layout));
        }
    }
    return layouts;
}

// Components within one job, numbered from 0.
std::vector<StepLayout> layouts_of_components(std::uint32_t job, std::uint32_t step,
                                              std::uint32_t tasks) {
    std::vector<StepLayout> layouts;
    for (std::uint32_t found = 0; found < tasks; found += layouts.back().task_count()) {
        auto layout = query_layout(job, step, static_cast<std::uint32_t>(layouts.size()));
        if (!layout) break;
        layouts.push_back(*std::move(layout));
    }
    return layouts;
}

}  // namespace

Result<StepLayout> query_het_layout(spank_t spank, std::uint32_t job, std::uint32_t step,
                                    std::uint32_t tasks) {
    const auto jobs = component_jobs(spank);
    const bool one_job = std::find(jobs.begin(), jobs.end(), job) == jobs.end();
    const auto layouts =
        one_job ? layouts_of_components(job, step, tasks) : layouts_of_jobs(jobs, step, tasks);
    if (layouts.empty()) return refuse(step, "slurmctld did not return its layout", "run it again");
    auto merged = StepLayout::from_components(layouts);
    if (!merged || merged->task_count() == tasks) return merged;
    // slurmctld forgets a component as soon as that has ended.
    return refuse(step,
                  formatted("slurmctld reports {} of its {} tasks", merged->task_count(), tasks),
                  "make sure that no component ends before all have started");
}

}  // namespace distgpu
