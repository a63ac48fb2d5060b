// How the step that a user means is found, with shell lines in the place of Slurm's commands.
#include "slurm/find_running_step.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

std::string job_line(const std::string& ids, const std::string& state = "RUNNING") {
    return "JobId=" + ids + " JobName=train UserId=alice(999) JobState=" + state +
           " Reason=Resources ExitCode=7:0 RunTime=00:00:03 EndTime=2026-11-27T02:46:51 "
           "SuspendTime=None NodeList=node01\n";
}

std::string step_line(const std::string& id, const std::string& nodes, int tasks) {
    return "StepId=" + id + " State=RUNNING NodeList=" + nodes + " Tasks=" + std::to_string(tasks) +
           " Name=python3\n";
}

class FindStepTest : public testing::Test {
  protected:
    // What a command prints for these words.
    void answer(const std::string& command, const std::string& words, const std::string& text,
                int status = 0) {
        lines_[command] += "if [ \"$*\" = \"" + words + "\" ]; then cat <<'end'\n" + text +
                           "end\nexit " + std::to_string(status) + "\nfi\n";
        folder_.write_program(command.c_str(), "#!/bin/sh\necho \"" + command + " $*\" >>" +
                                                   folder_.path() + "/asked\n" + lines_[command] +
                                                   "echo 'Invalid job id specified' >&2\nexit 1\n");
    }
    void answer_job(const std::string& job, const std::string& text) {
        answer("scontrol", "--oneliner show job " + job, text);
    }
    void answer_steps(const std::string& job, const std::string& text) {
        answer("scontrol", "--oneliner show step " + job, text);
    }
    void answer_sacct(const std::string& job, const std::string& text) {
        answer("sacct",
               "--noheader --parsable2 --jobs=" + job +
                   " --format=JobID,User,State,ExitCode,End,Elapsed,JobName",
               text);
    }
    void set(const std::string& name, const std::string& value) { variables_[name] = value; }

    std::string found(const std::string& name) const {
        Variables variables = variables_;
        variables["PATH"] = folder_.path() + ":/usr/bin:/bin";
        const MapEnvironment environment(variables);
        const auto step = find_step(name, environment);
        if (!step) return step.error().message();
        if (!step->step) return step->state + ": " + step->sentence;
        std::string text = step->step->id + " of " + step->user + "'s job " + step->job;
        for (const StepPart& part : step->step->parts) {
            text += ", " + part.numeric_id() + " on " + part.nodes.to_string();
            if (part.component)
                text += " in " + part.component->leader + '+' + part.component->group;
        }
        return text;
    }

    MadeUpFolder folder_;
    std::map<std::string, std::string> lines_;
    Variables variables_;
};

TEST_F(FindStepTest, AsksForTheJobThenForItsSteps) {
    answer_job("5", job_line("5"));
    answer_steps("5", step_line("5.batch", "node01", 1) + step_line("5.0", "node[01-02]", 4));
    EXPECT_EQ(found("5"), "5.0 of alice's job 5, 5.0 on node[01-02]");
    EXPECT_EQ(found("5.batch"), "5.batch of alice's job 5, 5.batch on node01");
    EXPECT_EQ(
        found("5.1"),
        "distgpu: 5.1: no such step is running; squeue --steps --jobs=5 lists those that are");
}

TEST_F(FindStepTest, WithoutANameIsTheJobAroundIt) {
    set("SLURM_JOB_ID", "5");
    answer_job("5", job_line("5"));
    answer_steps("5", step_line("5.0", "node01", 1));
    EXPECT_EQ(found(""), "5.0 of alice's job 5, 5.0 on node01");
}

TEST_F(FindStepTest, WithoutANameAndAJobIsTheUsersOnlyOne) {
    const std::string words = "--me --noheader --format=%i %T %j";
    answer_job("5", job_line("5"));
    answer_steps("5", step_line("5.0", "node01", 1));
    answer("squeue", words, "6 PENDING later\n5+0 RUNNING train\n5+1 RUNNING train\n");
    EXPECT_EQ(found(""), "5.0 of alice's job 5, 5.0 on node01");
    lines_["squeue"].clear();
    answer("squeue", words, "");
    EXPECT_EQ(found(""), "distgpu: your jobs: none is running or pending; name one that has ended");
    lines_["squeue"].clear();
    answer("squeue", words, "5 RUNNING train it\n6_3 RUNNING eval\n7 PENDING x\n");
    EXPECT_EQ(found(""),
              "distgpu: your jobs: there are 2; name one of them: 5 (train it), 6_3 (eval)");
    std::string many;
    for (int job = 10; job < 22; ++job) many += std::to_string(job) + " PENDING a\n";
    lines_["squeue"].clear();
    answer("squeue", words, many);
    EXPECT_EQ(found(""),
              "distgpu: your jobs: there are 12; name one of them: 10 (a), 11 (a), 12 (a), 13 (a), "
              "14 (a), 15 (a), 16 (a), 17 (a), 18 (a), 19 (a), and 2 more");
}

TEST_F(FindStepTest, OfAnArrayIsTheOnlyJobThatRuns) {
    const std::string done = job_line("7 ArrayJobId=4 ArrayTaskId=3", "COMPLETED");
    const std::string running = job_line("8 ArrayJobId=4 ArrayTaskId=4");
    const std::string waiting = job_line("4 ArrayJobId=4 ArrayTaskId=5-9", "PENDING");
    answer_steps("4_4", step_line("4_4.0", "node01", 1));
    for (const char* const name : {"4_4", "8"}) answer_job(name, running);
    answer_job("4", done + running + waiting);
    for (const char* const name : {"4", "4_4", "8"}) {
        EXPECT_EQ(found(name), "4_4.0 of alice's job 4_4, 8.0 on node01") << name;
    }
    answer_job("4_7", waiting);
    EXPECT_EQ(found("4_7"), "pending: job 4_[5-9] has not started: it is pending (Resources)");
    lines_["scontrol"].clear();
    answer_job("4", job_line("7 ArrayJobId=4 ArrayTaskId=3") + running + waiting);
    EXPECT_EQ(found("4"),
              "distgpu: 4: an array, and 2 of its jobs run; name one of them: 4_3 "
              "(train), 4_4 (train)");
    lines_["scontrol"].clear();
    answer_job("4", done + waiting);
    EXPECT_EQ(found("4"),
              "distgpu: 4: an array, and none of its jobs runs; name one of them: 4_3 "
              "(COMPLETED), 4_[5-9] (PENDING)");
}

TEST_F(FindStepTest, OfAHeterogeneousJobIsAllComponentsOrOne) {
    const std::string first = job_line("5 HetJobId=5 HetJobOffset=0 HetJobIdSet=5-6");
    const std::string second = job_line("6 HetJobId=5 HetJobOffset=1 HetJobIdSet=5-6");
    answer_job("5", first + second);
    answer_job("6", second);
    // Some releases list the first component's steps for the second too.
    answer_steps("5", step_line("5.batch", "node01", 1) + step_line("5.0", "node01", 1));
    answer_steps("6", step_line("5.0", "node01", 1) + step_line("6.0", "node02", 2));
    for (const char* const name : {"5", "5.0"}) {
        EXPECT_EQ(found(name), "5.0 of alice's job 5, 5.0 on node01 in 5+0, 6.0 on node02 in 5+1")
            << name;
    }
    for (const char* const name : {"5+1", "5.0+1", "5+1.0", "6", "6.0"}) {
        EXPECT_EQ(found(name), "5+1.0 of alice's job 5+1, 6.0 on node02 in 5+1") << name;
    }
    EXPECT_EQ(found("5+2"), "distgpu: 5+2: job 5 has no component 2; squeue --jobs=5 lists them");
}

// 26.05 lists components of a step inside a job under one id.
TEST_F(FindStepTest, ReadsSuchComponentsFromJson) {
    answer_job("5", job_line("5"));
    answer_steps("5", step_line("5.0", "node01", 1) + step_line("5.0", "node02", 2));
    const auto json = [](const char* id, const char* node) {
        return std::string(R"({"id":")") + id + R"(","nodes":")" + node +
               R"(","number_tasks":1,"state":["RUNNING"],"name":"a"})";
    };
    answer("scontrol", "--json show step 5",
           R"({"steps":[)" + json("5.0+0", "node01") + ',' + json("5.0+1", "node02") + "]}\n");
    EXPECT_EQ(found("5"), "5.0 of alice's job 5, 5.0+0 on node01, 5.0+1 on node02");
    EXPECT_EQ(found("5.0+1"), "5.0+1 of alice's job 5, 5.0+1 on node02");
}

TEST_F(FindStepTest, SaysWhatAJobThatDoesNotRunDoes) {
    answer_job("5", job_line("5", "PENDING"));
    EXPECT_EQ(found("5"), "pending: job 5 has not started: it is pending (Resources)");
    answer_job("6", job_line("6"));
    answer_steps("6", step_line("6.extern", "node01", 1));
    EXPECT_EQ(found("6"), "running: job 6 runs, but no program in it; srun starts one");
    // Without accounting what slurmctld still shows.
    answer_job("7", job_line("7", "FAILED"));
    const std::string ended = ", at 2026-11-27T02:46:51 after 00:00:03";
    EXPECT_EQ(found("7"), "failed: job 7 failed with exit status 7" + ended);
    answer_sacct("7",
                 "7|alice|FAILED|7:0|2026-11-27T02:46:51|00:00:03|train\n"
                 "7.0||FAILED|1:0|2026-11-27T02:46:50|00:00:02|python3\n"
                 "77.0||FAILED|1:0|2026-11-27T02:46:50|00:00:02|python3\n");
    const std::string step =
        "step 7.0 failed with exit status 1, at 2026-11-27T02:46:50 after "
        "00:00:02";
    EXPECT_EQ(found("7"), "failed: job 7 failed with exit status 7" + ended + "; " + step);
    EXPECT_EQ(found("7.0"), "failed: " + step);
}

TEST_F(FindStepTest, AsksAccountingForAStepOrJobThatIsGone) {
    answer_job("5", job_line("5"));
    answer_steps("5", step_line("5.1", "node01", 1));
    answer_sacct("5",
                 "5|alice|RUNNING|0:0|Unknown|00:00:03|train\n"
                 "5.0||FAILED|1:0|2026-11-27T02:46:50|00:00:02|python3\n");
    EXPECT_EQ(found("5.0"),
              "running: step 5.0 failed with exit status 1, at 2026-11-27T02:46:50 "
              "after 00:00:02");
    answer_sacct("9",
                 "9+0|alice|CANCELLED by 7|0:0|2026-11-27T02:46:50|00:00:02|train\n"
                 "9+1|alice|CANCELLED by 7|0:0|2026-11-27T02:46:50|00:00:02|train\n");
    const std::string cancelled = " was cancelled by user 7, at 2026-11-27T02:46:50 after 00:00:02";
    EXPECT_EQ(found("9"), "cancelled: job 9" + cancelled);
    EXPECT_EQ(found("9+1"), "cancelled: job 9+1" + cancelled);
    EXPECT_EQ(found("999"), "distgpu: 999: no job 999 is known to Slurm; squeue --me lists yours");
}

TEST_F(FindStepTest, TellsAnUnknownJobFromASilentSlurmctld) {
    folder_.write_program("scontrol",
                          "#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 3\n");
    EXPECT_EQ(found("5"),
              "distgpu: 5: scontrol --oneliner show job 5: Unable to contact slurm "
              "controller");
}

TEST_F(FindStepTest, TellsAJobWithoutStepsFromASilentSlurmctld) {
    answer_job("5", job_line("5"));
    answer("scontrol", "--oneliner show step 5", "Job step 5. not found\n", 1);
    EXPECT_EQ(found("5"), "running: job 5 runs, but no program in it; srun starts one");
    lines_["scontrol"].clear();
    answer_job("5", job_line("5"));
    answer("scontrol", "--oneliner show step 5", "", 4);
    EXPECT_EQ(found("5"), "distgpu: 5: scontrol --oneliner show step 5: ended with status 4");
}

TEST_F(FindStepTest, AsksForNothingThatIsNoName) {
    for (const std::string name : {"x", "--all", "5;id", "5.", "5/0"}) {
        EXPECT_EQ(found(name), "distgpu: " + name +
                                   ": not the name of a job or step; write JOB or JOB.STEP, as in "
                                   "4711 or 4711.0");
    }
}

TEST_F(FindStepTest, ARunningStepIsAnErrorIfThereIsNone) {
    answer_job("5", job_line("5", "PENDING"));
    const MapEnvironment environment(Variables{{"PATH", folder_.path() + ":/usr/bin:/bin"}});
    const auto step = find_running_step("5.0", environment);
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().message(),
              "distgpu: 5.0: job 5 has not started: it is pending (Resources)");
}

TEST_F(FindStepTest, ItsClusterIsTheVariablesOrSlurmctlds) {
    answer("scontrol", "show config", "ClusterName             = hpc\n");
    const Variables path{{"PATH", folder_.path() + ":/usr/bin:/bin"}};
    EXPECT_EQ(cluster_name(MapEnvironment(path)), "hpc");
    Variables in_job = path;
    in_job["SLURM_CLUSTER_NAME"] = "other";
    EXPECT_EQ(cluster_name(MapEnvironment(in_job)), "other");
    EXPECT_EQ(cluster_name(MapEnvironment(Variables{{"PATH", "/none"}})), "");
}

}  // namespace
}  // namespace distgpu
