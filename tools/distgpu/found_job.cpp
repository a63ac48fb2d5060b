#include "found_job.h"

#include "base/io/clock.h"
#include "output.h"

namespace distgpu {

Option step_option(std::string& step) {
    return {.name = "STEP",
            .target = &step,
            .help =
                "JOB or JOB.STEP, as in 4711, 4711.0, 4711_3 or 4711+1; by default the job around "
                "this, or your only one"};
}

ExitCode report_step_error(const std::string& argument, const Error& error) {
    const bool is_name = argument.empty() || StepName::parse(argument);
    return report_error(error, is_name ? ExitCode::environment : ExitCode::usage);
}

ResultHead result_head(const FoundStep& found, const Environment& environment) {
    return {.date = utc_time(),
            .cluster = cluster_name(environment),
            .user = found.user,
            .job = found.job,
            .state = found.state,
            .step = found.step ? found.step->id : ""};
}

}  // namespace distgpu
