// Which step of a job is meant, of what scontrol of Slurm 22.05 lists.
#include "slurm/running_step.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

std::string line(const std::string& id, const std::string& nodes, int tasks,
                 const std::string& state = "RUNNING") {
    return "StepId=" + id +
           " UserId=999 StartTime=2026-11-24T08:40:31 TimeLimit=UNLIMITED State=" + state +
           " Partition=main NodeList=" + nodes + " Nodes=2 CPUs=2 Tasks=" + std::to_string(tasks) +
           " Name=sleep Network=(null) TRES=cpu=2,mem=0,node=2 ResvPorts=(null) "
           "CPUFreqReq=Default Dist=Block SrunHost:Pid=node01:79\n";
}

const std::string batch = line("5.batch", "node01", 1);
const std::string extern_step = line("5.extern", "node[01-02]", 2);
const std::string first = line("5.0", "node[01-02]", 8);
const std::string second = line("5.1", "node02", 1);
const std::string both_components =
    line("5.batch", "node01", 1) + line("5.0+0", "node01", 1) + line("5.0+1", "node02", 2);
const std::string array = line("4_3.batch", "node01", 1) + line("4_3.0", "node01", 1) +
                          line("4_4.batch", "node01", 1) + line("4_4.0", "node02", 2);

std::string chosen(const std::string& wanted, const std::string& listed) {
    const auto step = choose_step(wanted, running_steps(listed));
    return step ? step->id : step.error().message();
}

std::string none(const std::string& wanted) {
    return "distgpu: " + wanted + ": no such step runs; squeue --me --steps lists yours";
}

TEST(ChooseStep, TellsItsNodesAndTasks) {
    const auto step = choose_step("5", running_steps(batch + first));
    ASSERT_TRUE(step);
    EXPECT_EQ(step->id, "5.0");
    EXPECT_EQ(step->job, "5");
    EXPECT_EQ(step->numbered(), "5.0");
    EXPECT_EQ(step->nodes.to_string(), "node[01-02]");
    EXPECT_EQ(step->tasks, 8U);
}

TEST(ChooseStep, OfAJobIsTheOneOfSrunElseTheBatchScript) {
    EXPECT_EQ(chosen("5", extern_step + batch + first), "5.0");
    EXPECT_EQ(chosen("5", extern_step + batch), "5.batch");
    EXPECT_EQ(chosen("5", extern_step), none("5"));
    EXPECT_EQ(chosen("5", ""), none("5"));
}

TEST(ChooseStep, OfSeveralMustBeNamed) {
    EXPECT_EQ(chosen("5", batch + first + second),
              "distgpu: 5: 2 steps of it run; name one of them: 5.0, 5.1");
    EXPECT_EQ(chosen("5.1", batch + first + second), "5.1");
    EXPECT_EQ(chosen("5.batch", batch + first + second), "5.batch");
    EXPECT_EQ(chosen("5.extern", extern_step + first), "5.extern");
    EXPECT_EQ(chosen("5.2", batch + first + second), none("5.2"));
    EXPECT_EQ(chosen("5.", batch + first), none("5."));
}

TEST(ChooseStep, TakesNoneThatHasEnded) {
    EXPECT_EQ(chosen("5", batch + line("5.0", "node01", 1, "COMPLETED") + second), "5.1");
    EXPECT_EQ(chosen("5.0", line("5.0", "node01", 1, "PENDING")), none("5.0"));
}

TEST(ChooseStep, OfAHeterogeneousStepIsOneComponent) {
    const std::string several = ": 2 steps of it run; name one of them: 5.0+0, 5.0+1";
    EXPECT_EQ(chosen("5", both_components), "distgpu: 5" + several);
    EXPECT_EQ(chosen("5.0", both_components), "distgpu: 5.0" + several);
    EXPECT_EQ(chosen("5.0+1", both_components), "5.0+1");
    EXPECT_EQ(chosen("5.0+2", both_components), none("5.0+2"));
}

TEST(ChooseStep, OfAnArrayIsOfOneJob) {
    EXPECT_EQ(chosen("4", array), "distgpu: 4: 2 steps of it run; name one of them: 4_3.0, 4_4.0");
    EXPECT_EQ(chosen("4_4", array), "4_4.0");
    EXPECT_EQ(chosen("4_3.batch", array), "4_3.batch");
    // scontrol takes the number of the array's job too, and answers with the array's.
    EXPECT_EQ(chosen("6.0", line("4_3.0", "node01", 1)), "4_3.0");
}

// Of a later component of a heterogeneous job scontrol lists the first one's steps.
TEST(ChooseStep, IsOfNoOtherJob) {
    EXPECT_EQ(chosen("5+1", batch + first), none("5+1"));
    EXPECT_EQ(chosen("51", batch + first), none("51"));
}

// As 26.05.3 prints them.
std::string json_step(const std::string& id, const std::string& nodes, const std::string& tasks,
                      const std::string& state = "RUNNING") {
    return R"({"name":"sleep","nodes":")" + nodes + R"(","number_tasks":)" + tasks +
           R"(,"state":[")" + state + R"("],"id":")" + id + R"("})";
}

std::string chosen_of_json(const std::string& wanted, const std::string& steps) {
    const auto step = choose_step(wanted, running_steps_of_json(R"({"steps":[)" + steps + "]}"));
    return step ? step->id + " on " + step->nodes.to_string() + ": " + std::to_string(step->tasks)
                : step.error().message();
}

TEST(ChooseStep, OfAHeterogeneousStepAsJson) {
    const std::string both =
        json_step("5.0+0", "node01", "1") + ',' + json_step("5.0+1", "node02", "2");
    EXPECT_EQ(chosen_of_json("5.0+1", both), "5.0+1 on node02: 2");
    EXPECT_EQ(chosen_of_json("5.0", both),
              "distgpu: 5.0: 2 steps of it run; name one of them: 5.0+0, 5.0+1");
    EXPECT_EQ(chosen_of_json("5.0+0", json_step("5.0+0", "node01", "1", "COMPLETED")),
              none("5.0+0"));
}

TEST(ChooseStep, ReadsNothingIntoOtherJson) {
    for (const std::string& step :
         {json_step("5.0", "node[01-", "1"), json_step("5.0", "node01", "-1"),
          json_step("5.0", "node01", R"("1")"), json_step("5", "node01", "1"), std::string("{}"),
          std::string("{")}) {
        EXPECT_EQ(chosen_of_json("5.0", step), none("5.0")) << step;
    }
}

RunningStep of_job(const std::string& job, const std::string& listed) {
    return with_job(RunningStep{job + ".0", job, {}, 1}, listed);
}

TEST(WithJob, TakesTheNumberOfAnArraysJob) {
    const RunningStep step = of_job("4_3", "7 4_3\n");
    EXPECT_EQ(step.job, "7");
    EXPECT_EQ(step.numbered(), "7.0");
    EXPECT_FALSE(step.is_component());
}

// What squeue of 22.05 lists for the number of any component, or of the first.
TEST(WithJob, KnowsTheComponentOfAHeterogeneousJob) {
    for (const std::string listed : {"6 5+1\n", "5 5+0\n6 5+1\n"}) {
        const RunningStep step = of_job("6", listed);
        EXPECT_EQ(step.numbered(), "6.0");
        EXPECT_TRUE(step.is_component());
        ASSERT_TRUE(step.component);
        EXPECT_EQ(step.component->leader, "5");
        EXPECT_EQ(step.component->group, "1");
    }
}

TEST(WithJob, LeavesAnotherJobAsItIs) {
    for (const std::string listed : {"5 5\n", "", "6", "55 55+1\n", "\n 5\n"}) {
        const RunningStep step = of_job("5", listed);
        EXPECT_EQ(step.job, "5") << listed;
        EXPECT_FALSE(step.is_component()) << listed;
    }
}

TEST(ChooseStep, ReadsNothingIntoOtherText) {
    for (const std::string text :
         {"Job step 5. not found\n", "StepId=5.0 State=RUNNING\n",
          "StepId=5.0 State=RUNNING NodeList=node[01- Tasks=1\n",
          "StepId=5.0 State=RUNNING NodeList=node01 Tasks=many\n",
          "StepId=5 State=RUNNING NodeList=node01 Tasks=1\n", "\n \n= =\nStepId\n"}) {
        EXPECT_EQ(chosen("5", text), none("5")) << text;
    }
}

TEST(FindRunningStep, AsksForNothingThatIsNoStep) {
    const MapEnvironment nowhere(Variables{{"PATH", "/nonexistent"}});
    for (const std::string wanted : {"", "x", "--all", "-5", ".0", "5;id", "5 0", "5\n0", "5/0"}) {
        const auto step = find_running_step(wanted, nowhere);
        ASSERT_FALSE(step) << wanted;
        EXPECT_EQ(step.error().message(),
                  "distgpu: " + wanted + ": not a step; write JOB or JOB.STEP, as in 4711.0");
    }
}

TEST(FindRunningStep, SaysWhereScontrolIsNot) {
    const auto step = find_running_step("5", MapEnvironment(Variables{{"PATH", "/nonexistent"}}));
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().object, "5");
    EXPECT_NE(step.error().problem.find("scontrol"), std::string::npos) << step.error().problem;
}

}  // namespace
}  // namespace distgpu
