#include "run/time_limit.h"

#include "base/format.h"
#include "base/values.h"
#include "slurm/slurm_queries.h"

namespace distgpu {
namespace {

constexpr std::chrono::seconds query_limit{30};

std::optional<std::time_t> read_time(std::string_view text) {
    std::tm local{};
    const char* const end = strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%S", &local);
    if (end == nullptr) return std::nullopt;
    local.tm_isdst = -1;
    return std::mktime(&local);
}

}  // namespace

JobRecord read_job_record(std::string_view text) {
    JobRecord record;
    for (std::string_view word : words_in(text)) {
        const std::string_view name = cut_until(word, '=');
        if (name == "EndTime") record.end = read_time(word);
        if (name == "Requeue") record.may_be_requeued = word == "1";
    }
    return record;
}

Result<JobRecord> ask_job_record(const Environment& environment) {
    return run_slurm_command(environment,
                             {"scontrol", "--oneliner", "show", "job", own_job(environment)},
                             query_limit)
        .transform([](const std::string& text) { return read_job_record(text); });
}

std::string own_job(const Environment& environment) {
    const std::string array = environment.text("SLURM_ARRAY_JOB_ID");
    if (array.empty()) return environment.text("SLURM_JOB_ID");
    return formatted("{}_{}", array, environment.text("SLURM_ARRAY_TASK_ID"));
}

Result<std::string> requeue_job(const Environment& environment,
                                const std::vector<std::string>& left_out) {
    if (!left_out.empty()) {
        const auto updated =
            run_slurm_command(environment,
                              {"scontrol", "update", "JobId=" + own_job(environment),
                               "ExcNodeList=" + join(left_out, ",")},
                              query_limit);
        if (!updated) return updated.error();
    }
    return run_slurm_command(environment, {"scontrol", "requeue", own_job(environment)},
                             query_limit);
}

}  // namespace distgpu
