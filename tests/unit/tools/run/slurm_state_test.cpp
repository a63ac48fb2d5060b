#include "run/slurm_state.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(JobRecord, IsThatOfScontrol) {
    const JobRecord record = read_job_record(
        "JobId=5 JobName=job.sh JobState=RUNNING Requeue=1 Restarts=0 "
        "StartTime=2026-11-27T21:00:00 "
        "EndTime=2026-11-27T22:00:00 Deadline=N/A\n");
    ASSERT_TRUE(record.end);
    std::tm local{};
    localtime_r(&*record.end, &local);
    EXPECT_EQ(local.tm_hour, 22);
    EXPECT_EQ(local.tm_mday, 27);
    EXPECT_TRUE(record.may_be_requeued);
    EXPECT_TRUE(record.is_running);
    EXPECT_FALSE(read_job_record("JobId=5 JobState=COMPLETING").is_running);
    EXPECT_EQ(record.excluded, "");
    EXPECT_EQ(read_job_record("JobId=5 ExcNodeList=(null)").excluded, "");
    EXPECT_EQ(read_job_record("JobId=5 ExcNodeList=n[1-2]").excluded, "n[1-2]");
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

TEST(LostNodes, AreDownFailedOrNotResponding) {
    // As scontrol of 22.05 to 26.05 prints them.
    EXPECT_EQ(read_lost_nodes("NodeName=n1 Arch=x86_64 State=ALLOCATED ThreadsPerCore=1\n"
                              "NodeName=n2 State=DOWN*+NOT_RESPONDING Reason=Not responding\n"
                              "NodeName=n3 State=ALLOCATED*\nNodeName=n4 State=MIXED+DRAIN\n"
                              "NodeName=n5 State=DOWN\nNodeName=n6 State=FAILING\n"),
              (std::vector<std::string>{"n2", "n3", "n5", "n6"}));
    EXPECT_TRUE(read_lost_nodes("").empty());
}

}  // namespace
}  // namespace distgpu
