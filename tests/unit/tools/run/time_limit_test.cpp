#include "run/time_limit.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(JobRecord, IsThatOfScontrol) {
    const JobRecord record = read_job_record(
        "JobId=5 JobName=job.sh Requeue=1 Restarts=0 StartTime=2026-11-27T21:00:00 "
        "EndTime=2026-11-27T22:00:00 Deadline=N/A\n");
    ASSERT_TRUE(record.end);
    std::tm local{};
    localtime_r(&*record.end, &local);
    EXPECT_EQ(local.tm_hour, 22);
    EXPECT_EQ(local.tm_mday, 27);
    EXPECT_TRUE(record.may_be_requeued);
    EXPECT_FALSE(read_job_record("JobId=5 EndTime=Unknown Requeue=0").end);
    EXPECT_FALSE(read_job_record("JobId=5 EndTime=Unknown Requeue=0").may_be_requeued);
}

TEST(OwnJob, IsTheArraysElement) {
    EnvironmentCopy environment;
    environment.set("SLURM_JOB_ID", "9");
    EXPECT_EQ(own_job(environment), "9");
    environment.set("SLURM_ARRAY_JOB_ID", "4");
    environment.set("SLURM_ARRAY_TASK_ID", "3");
    EXPECT_EQ(own_job(environment), "4_3");
}

}  // namespace
}  // namespace distgpu
