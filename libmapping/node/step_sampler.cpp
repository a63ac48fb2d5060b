#include "node/step_sampler.h"

#include "base/format.h"
#include "base/json_fields.h"

namespace distgpu {

std::string ended_task_line(std::uint32_t task, int status, std::optional<std::uint32_t> rank) {
    if (rank) return formatted("{} {} {}\n", task, status, *rank);
    return formatted("{} {}\n", task, status);
}

std::optional<StepSampler> read_step_sampler(std::string_view text) {
    return read_fields<StepSampler>(text, 0);
}

Result<std::monostate> start_step_sampler(const HostHelper& helper, const std::string& program,
                                          const StepSampler& sampler,
                                          const Environment& environment, int control) {
    const HostProgram host_program{.words = {program, fields_json(sampler).line()},
                                   .environment = environment};
    const auto started = helper.start_detached(host_program, control);
    if (started) return std::monostate{};
    return Error{formatted("report: {} on {}", program, sampler.node), started.error().problem,
                 "the step runs without a report; install all files of the package distgpu"};
}

}  // namespace distgpu
