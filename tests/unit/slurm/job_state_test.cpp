// What scontrol and sacct print of jobs, and the sentences about those that do not run. The lines
// are from Slurm 22.05, shortened.
#include "slurm/job_state.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

const std::string times =
    " SubmitTime=2026-11-27T02:44:30 EligibleTime=2026-11-27T02:44:30 "
    "AccrueTime=2026-11-27T02:44:30 StartTime=2026-11-27T02:44:31 ";
const std::string user =
    " UserId=sandbox(999) GroupId=sandbox(995) MCS_label=N/A Priority=4294901759 Nice=0 "
    "Account=(null) QOS=(null)";
const std::string rest = " Partition=main AllocNode:Sid=login:9113 NodeList=node02 NumNodes=1";

std::string job_line(const std::string& ids, const std::string& state, const std::string& end,
                     const std::string& exit_code = "0:0") {
    return ids + user + " JobState=" + state +
           " Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=" + exit_code +
           " RunTime=00:00:03 TimeLimit=UNLIMITED TimeMin=N/A" + times + end + rest + "\n";
}

const std::string no_end = "EndTime=Unknown Deadline=N/A SuspendTime=None SecsPreSuspend=0";
const std::string an_end =
    "EndTime=2026-11-27T02:46:51 Deadline=N/A SuspendTime=None SecsPreSuspend=0";

Job only_job(const std::string& text) {
    const auto jobs = parse_jobs(text);
    EXPECT_EQ(jobs.size(), 1U) << text;
    return jobs.empty() ? Job() : jobs.front();
}

TEST(ParseJobs, ReadsNumbersAndOwners) {
    const Job job =
        only_job(job_line("JobId=4 JobName=train.sbatch", "RUNNING Reason=None", no_end));
    EXPECT_EQ(job.number, "4");
    EXPECT_EQ(job.id, "4");
    EXPECT_EQ(job.name, "train.sbatch");
    EXPECT_EQ(job.user, "sandbox");
    EXPECT_EQ(job.nodes, "node02");
    EXPECT_EQ(job.end_time, "");
    EXPECT_TRUE(job.is_running());
    EXPECT_FALSE(job.component);
}

TEST(ParseJobs, ReadsArraysAndHeterogeneousJobs) {
    const auto elements = parse_jobs(
        job_line("JobId=3 ArrayJobId=3 ArrayTaskId=5-9%2 JobName=a", "PENDING Reason=None",
                 no_end) +
        job_line("JobId=7 ArrayJobId=3 ArrayTaskId=3 JobName=a", "RUNNING Reason=None", no_end));
    ASSERT_EQ(elements.size(), 2U);
    EXPECT_EQ(elements[0].id, "3_[5-9%2]");
    EXPECT_EQ(elements[1].id, "3_3");
    EXPECT_EQ(elements[1].number, "7");
    const auto components =
        parse_jobs(job_line("JobId=1 HetJobId=1 HetJobOffset=0 JobName=h HetJobIdSet=1-2,5",
                            "RUNNING Reason=None", no_end) +
                   job_line("JobId=2 HetJobId=1 HetJobOffset=1 JobName=h HetJobIdSet=1-2,5",
                            "RUNNING Reason=None", no_end));
    ASSERT_EQ(components.size(), 2U);
    EXPECT_EQ(components[1].id, "1+1");
    EXPECT_EQ(components[1].component, (JobComponent{"1", "1"}));
    EXPECT_EQ(components[0].components, (std::vector<std::string>{"1", "2", "5"}));
}

TEST(ParseJobs, ReadsNothingIntoOtherText) {
    for (const char* const text : {"", "\n", "No jobs in the system\n",
                                   "JobId=x JobState=RUNNING\n", "JobState=RUNNING\n"}) {
        EXPECT_TRUE(parse_jobs(text).empty()) << text;
    }
    // A set that no job has.
    const Job job = only_job("JobId=1 HetJobId=1 HetJobOffset=0 HetJobIdSet=1-4000000000,x\n");
    EXPECT_EQ(job.components.size(), 128U);
}

TEST(StateSentence, SaysWhatAJobWaitsFor) {
    struct Row {
        std::string state;
        std::string end;
        const char* sentence;
    };
    for (const Row& row : {
             Row{"SUSPENDED Reason=None",
                 "EndTime=2027-11-27T02:44:33 Deadline=N/A SuspendTime=2026-11-27T02:46:50 "
                 "SecsPreSuspend=137",
                 "job 4 is suspended since 2026-11-27T02:46:50; its processes cannot move until "
                 "`scontrol resume 4`"},
             {"PENDING Reason=BeginTime", no_end,
              "job 4 has not started: it is pending (BeginTime)"},
             {"PENDING Reason=None", no_end, "job 4 has not started: it is pending"},
             {"REQUEUE_HOLD Reason=launch_failed_requeued_held", no_end,
              "job 4 has not started: it is REQUEUE_HOLD (launch_failed_requeued_held)"},
             {"CONFIGURING Reason=None", no_end,
              "job 4 has not started: its nodes are being prepared"},
             {"COMPLETING Reason=None", an_end,
              "job 4 is ending: Slurm waits until its processes on node02 are gone"},
         }) {
        const Job job = only_job(job_line("JobId=4 JobName=a", row.state, row.end));
        EXPECT_FALSE(job.is_running()) << row.state;
        EXPECT_FALSE(job.has_ended()) << row.state;
        EXPECT_EQ(state_sentence(job), row.sentence);
    }
}

TEST(StateSentence, SaysHowAJobEnded) {
    struct Row {
        std::string state;
        std::string exit_code;
        std::string how;
    };
    for (const Row& row : {
             Row{"COMPLETED Reason=None", "0:0", "completed"},
             {"FAILED Reason=NonZeroExitCode", "7:0", "failed with exit status 7"},
             {"FAILED Reason=JobLaunchFailure", "0:9", "was killed by signal 9"},
             {"CANCELLED Reason=None", "0:15", "was cancelled (signal 15)"},
             {"TIMEOUT Reason=TimeLimit", "0:1", "reached its time limit"},
             {"OUT_OF_MEMORY Reason=OutOfMemory", "0:125", "ran out of memory"},
             {"NODE_FAIL Reason=NodeDown", "0:0", "lost a node"},
             {"PREEMPTED Reason=None", "0:15", "was preempted"},
         }) {
        const Job job = only_job(job_line("JobId=4 JobName=a", row.state, an_end, row.exit_code));
        EXPECT_FALSE(job.is_running()) << row.state;
        EXPECT_TRUE(job.has_ended()) << row.state;
        EXPECT_EQ(state_sentence(job),
                  "job 4 " + row.how + ", at 2026-11-27T02:46:51 after 00:00:03");
    }
}

TEST(Job, RunsInEveryOtherState) {
    for (const char* const state : {"RUNNING", "RESIZING", "SIGNALING", "STOPPED"}) {
        EXPECT_TRUE((Job{.number = "4", .id = "4", .state = state}.is_running())) << state;
    }
}

// ---- Accounting, as sacct of 22.05 prints it.

constexpr const char* accounting =
    "9|sandbox|FAILED|7:0|2026-11-27T02:58:18|00:00:01|fail.sbatch\n"
    "9.batch||FAILED|7:0|2026-11-27T02:58:18|00:00:01|batch\n"
    "9.0||FAILED|7:0|2026-11-27T02:58:17|00:00:00|sh\n"
    "10+0|sandbox|CANCELLED by 999|0:0|2026-11-27T02:58:22|00:00:04|het.sbatch\n"
    "10+0.batch||CANCELLED|0:15|2026-11-27T02:58:22|00:00:04|batch\n"
    "10+0.0||CANCELLED|0:15|2026-11-27T02:58:22|00:00:03|sh\n"
    "10+1|sandbox|CANCELLED by 999|0:0|2026-11-27T02:58:22|00:00:04|het.sbatch\n"
    "10+1.0||CANCELLED|0:15|2026-11-27T02:58:22|00:00:03|sh\n"
    "15|sandbox|COMPLETED|0:0|2026-11-27T02:58:26|00:00:04|two|words\n"
    "15.batch||COMPLETED|0:0|2026-11-27T02:58:26|00:00:04|batch\n"
    "15.0||CANCELLED|0:9|2026-11-27T02:58:25|00:00:02|sh\n"
    "15.1||COMPLETED|0:0|2026-11-27T02:58:26|00:00:01|true\n"
    "16|sandbox|RUNNING|0:0|Unknown|00:00:04|train\n";

std::vector<AccountedStep> of_job(const std::string& job) {
    std::vector<AccountedStep> listed = parse_sacct(accounting);
    std::erase_if(listed, [&](const AccountedStep& step) { return !step.id.starts_with(job); });
    return listed;
}

std::string sentence_of(const std::string& job) {
    const auto jobs = ended_jobs(of_job(job));
    return jobs.empty() ? "none" : state_sentence(jobs.front(), of_job(job));
}

TEST(Accounting, SaysHowAJobAndItsStepsEnded) {
    EXPECT_EQ(sentence_of("9"),
              "job 9 failed with exit status 7, at 2026-11-27T02:58:18 after 00:00:01; step 9.0 "
              "failed with exit status 7, at 2026-11-27T02:58:17 after 00:00:00");
    EXPECT_EQ(sentence_of("15"),
              "job 15 completed, at 2026-11-27T02:58:26 after 00:00:04; step 15.0 was cancelled "
              "(signal 9), at 2026-11-27T02:58:25 after 00:00:02");
    // That its steps were cancelled too says nothing more.
    EXPECT_EQ(sentence_of("10"),
              "job 10+0 was cancelled by user 999, at 2026-11-27T02:58:22 after 00:00:04");
    EXPECT_EQ(sentence_of("16"), "none");
}

TEST(Accounting, NamesFourStepsTheFirstToEndFirst) {
    std::vector<AccountedStep> listed;
    for (int step = 0; step < 6; ++step) {
        listed.push_back({.id = "9." + std::to_string(step),
                          .state = "FAILED",
                          .exit_code = "1:0",
                          .end_time = "2026-11-27T02:58:1" + std::to_string(9 - step)});
    }
    const Job job{.number = "9", .id = "9", .state = "FAILED", .exit_code = "1:0"};
    const std::string failed = " failed with exit status 1";
    EXPECT_EQ(state_sentence(job, listed), "job 9" + failed + "; step 9.5" + failed +
                                               ", at 2026-11-27T02:58:14; step 9.4" + failed +
                                               ", at 2026-11-27T02:58:15; step 9.3" + failed +
                                               ", at 2026-11-27T02:58:16; step 9.2" + failed +
                                               ", at 2026-11-27T02:58:17; 2 more did not complete");
}

TEST(Accounting, KnowsComponentsAndOwners) {
    const auto jobs = ended_jobs(of_job("10"));
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs[1].component, (JobComponent{"10", "1"}));
    EXPECT_EQ(jobs[1].user, "sandbox");
    EXPECT_EQ(of_job("15").front().name, "two|words");
}

TEST(Accounting, FindsAStepThatEnded) {
    const auto step = find_ended(of_job("10"), "10+1.0");
    ASSERT_TRUE(step);
    EXPECT_EQ(ended_sentence("step " + step->id, *step),
              "step 10+1.0 was cancelled (signal 15), at 2026-11-27T02:58:22 after 00:00:03");
    EXPECT_FALSE(find_ended(of_job("10"), "10+1.1"));
    EXPECT_FALSE(find_ended(of_job("16"), "16"));
}

TEST(Accounting, ReadsNothingIntoOtherText) {
    EXPECT_TRUE(parse_sacct("").empty());
    EXPECT_TRUE(parse_sacct("Slurm accounting storage is disabled\n\n|||||\n").empty());
}

}  // namespace
}  // namespace distgpu
