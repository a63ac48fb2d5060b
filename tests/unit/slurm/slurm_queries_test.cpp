// What Slurm's commands print, and how they are asked.
#include "slurm/slurm_queries.h"

#include "base/environment.h"
#include "made_up_folder.h"
#include "map_environment.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(SlurmCommand, AnErrorNamesTheCommandWithoutItsVariables) {
    EnvironmentCopy environment;
    environment.set("PATH", "/usr/bin:" + std::string(400, 'x'));
    environment.set("SLURM_CONF", "/none");
    EXPECT_EQ(message_of(
                  run_slurm_command(environment, {"sh", "-c", "exit 3"}, std::chrono::seconds(20))),
              "distgpu: sh -c exit 3: ended with status 3");
}

// ---- What slurmctld is asked, and its answer as sattach prints it (run on 22.05 and 26.05).

constexpr const char* answer =
    "Job step layout:\n"
    "\t5 tasks, 3 nodes (n[01,04-05])\n"
    "\n"
    "\tNode 0 (n01), 1 task(s): 3 \n"
    "\tNode 1 (n04), 3 task(s): 0 1 4 \n"
    "\tNode 2 (n05), 1 task(s): 2 \n";

TEST(StepQuery, ReadsTheAnswer) {
    const auto layout = parse_sattach(answer);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->hosts().to_string(), "n[01,04-05]");
    const std::vector<std::uint32_t> nodes{1, 1, 2, 0, 1};
    for (std::uint32_t task = 0; task < nodes.size(); ++task) {
        EXPECT_EQ(layout->place(TaskId{task}).node, NodeIndex{nodes[task]}) << task;
    }
}

std::string with(const char* old, const char* text) {
    std::string changed = answer;
    return changed.replace(changed.find(old), std::string(old).size(), text);
}

TEST(StepQuery, OtherAnswersAreRefused) {
    for (const std::string& text : {
             std::string(), std::string("sattach: no such option\n"),
             with("2 \n", "1 \n"),                // of a heterogeneous step: twice the same task
             with("2 \n", "5 \n"),                // a gap
             with("2 \n", "4294967295 \n"),       // more tasks than there are
             with(", 1 task(s): 2", ""),          // a node without tasks
             with("n[01,04-05]", "n[01,04"),      // no list of nodes
             with("n[01,04-05]", "n01"),          // fewer nodes than are described
             with("n[01,04-05]", "n[01,04-06]"),  // more
         }) {
        EXPECT_FALSE(parse_sattach(text)) << text;
    }
}

TEST(StepQuery, MoreTasksThanMayAskAreRefusedUnasked) {
    const auto refused = [](const char* tasks) {
        const MapEnvironment environment({{"SLURM_STEP_NUM_TASKS", tasks}, {"PATH", "/none"}});
        return message_of(layout_query(environment)({7, 2, 0}));
    };
    EXPECT_EQ(refused("513"),
              "distgpu: step 7.2: only slurmctld knows which node each task runs on, and at most "
              "512 tasks may ask it, but the step has 513; use srun -m cyclic or -m plane=N, or "
              "srun --distgpu");
    const std::string failed =
        "distgpu: step 7.2: only slurmctld knows which node each task runs on, and sattach "
        "--layout failed: ";
    EXPECT_EQ(refused("512").substr(0, failed.size()), failed);
}

// ---- Which step of a job is meant, of what scontrol of Slurm 22.05 lists.

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
    const auto step = choose_step(wanted, parse_steps(listed));
    return step ? step->id : step.error().message();
}

std::string none(const std::string& wanted) {
    return "distgpu: " + wanted + ": no such step is running; squeue --me --steps lists yours";
}

TEST(ChooseStep, TellsItsNodesAndTasks) {
    const auto step = choose_step("5", parse_steps(batch + first));
    ASSERT_TRUE(step);
    EXPECT_EQ(step->id, "5.0");
    EXPECT_EQ(step->job, "5");
    EXPECT_EQ(step->numeric_id(), "5.0");
    EXPECT_EQ(step->nodes.to_string(), "node[01-02]");
    EXPECT_EQ(step->tasks, 8U);
}

TEST(ChooseStep, IsTheOneThatIsMeantOrMustBeNamed) {
    struct Row {
        const char* wanted;
        std::string listed;
        std::string chosen;  // empty: none
    };
    const std::string three = batch + first + second;
    const std::string several = ": it has 2 running steps; name one of them: 5.0+0, 5.0+1";
    for (const Row& row : {
             // Of a job the one of srun, else the batch script's.
             Row{"5", extern_step + batch + first, "5.0"},
             {"5", extern_step + batch, "5.batch"},
             {"5", extern_step, ""},
             {"5", "", ""},
             {"5", three, "distgpu: 5: it has 2 running steps; name one of them: 5.0, 5.1"},
             {"5.1", three, "5.1"},
             {"5.batch", three, "5.batch"},
             {"5.extern", extern_step + first, "5.extern"},
             {"5.2", three, ""},
             {"5.", batch + first, ""},
             // Nor one that has ended, or of another job: of a later component of a heterogeneous
             // job scontrol lists the first one's steps.
             {"5", batch + line("5.0", "node01", 1, "COMPLETED") + second, "5.1"},
             {"5.0", line("5.0", "node01", 1, "PENDING"), ""},
             {"5+1", batch + first, ""},
             {"51", batch + first, ""},
             // Of a heterogeneous step one component.
             {"5", both_components, "distgpu: 5" + several},
             {"5.0", both_components, "distgpu: 5.0" + several},
             {"5.0+1", both_components, "5.0+1"},
             {"5.0+2", both_components, ""},
             // Of an array one job's.
             {"4", array, "distgpu: 4: it has 2 running steps; name one of them: 4_3.0, 4_4.0"},
             {"4_4", array, "4_4.0"},
             {"4_3.batch", array, "4_3.batch"},
             // scontrol takes the number of the array's job too, and answers with the array's.
             {"6.0", line("4_3.0", "node01", 1), "4_3.0"},
             // It reads nothing into other text.
             {"5", "Job step 5. not found\n", ""},
             {"5", "StepId=5.0 State=RUNNING\n", ""},
             {"5", "StepId=5.0 State=RUNNING NodeList=node[01- Tasks=1\n", ""},
             {"5", "StepId=5.0 State=RUNNING NodeList=node01 Tasks=many\n", ""},
             {"5", "StepId=5 State=RUNNING NodeList=node01 Tasks=1\n", ""},
             {"5", "\n \n= =\nStepId\n", ""},
         }) {
        EXPECT_EQ(chosen(row.wanted, row.listed),
                  row.chosen.empty() ? none(row.wanted) : row.chosen)
            << row.wanted << "\n"
            << row.listed;
    }
}

// As 26.05.3 prints them.
std::string json_step(const std::string& id, const std::string& nodes, const std::string& tasks,
                      const std::string& state = "RUNNING") {
    return R"({"name":"sleep","nodes":")" + nodes + R"(","number_tasks":)" + tasks +
           R"(,"state":[")" + state + R"("],"id":")" + id + R"("})";
}

std::string chosen_of_json(const std::string& wanted, const std::string& steps) {
    const auto step = choose_step(wanted, parse_steps_json(R"({"steps":[)" + steps + "]}"));
    return step ? step->id + " on " + step->nodes.to_string() + ": " + std::to_string(step->tasks)
                : step.error().message();
}

TEST(ChooseStep, OfAHeterogeneousStepAsJson) {
    const std::string both =
        json_step("5.0+0", "node01", "1") + ',' + json_step("5.0+1", "node02", "2");
    EXPECT_EQ(chosen_of_json("5.0+1", both), "5.0+1 on node02: 2");
    EXPECT_EQ(chosen_of_json("5.0", both),
              "distgpu: 5.0: it has 2 running steps; name one of them: 5.0+0, 5.0+1");
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

TEST(WithJob, TakesTheNumberOfAnArraysJobAndTheComponentOfAHeterogeneousOne) {
    const RunningStep of_array = of_job("4_3", "7 4_3\n");
    EXPECT_EQ(of_array.job, "7");
    EXPECT_EQ(of_array.numeric_id(), "7.0");
    EXPECT_FALSE(of_array.is_component());
    // What squeue of 22.05 lists for the number of any component, or of the first.
    for (const std::string listed : {"6 5+1\n", "5 5+0\n6 5+1\n"}) {
        const RunningStep step = of_job("6", listed);
        EXPECT_EQ(step.numeric_id(), "6.0");
        EXPECT_TRUE(step.is_component());
        ASSERT_TRUE(step.component);
        EXPECT_EQ(step.component->leader, "5");
        EXPECT_EQ(step.component->group, "1");
    }
    // Another job stays as it is.
    for (const std::string listed : {"5 5\n", "", "6", "55 55+1\n", "\n 5\n"}) {
        const RunningStep step = of_job("5", listed);
        EXPECT_EQ(step.job, "5") << listed;
        EXPECT_FALSE(step.is_component()) << listed;
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
    const auto step = find_running_step("5", nowhere);
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().object, "5");
    EXPECT_NE(step.error().problem.find("scontrol"), std::string::npos) << step.error().problem;
}

// Shell lines in the place of Slurm's commands.
class SlurmCommandsTest : public testing::Test {
  protected:
    void answer(const char* command, const std::string& lines) const {
        folder_.write_program(command, "#!/bin/sh\n" + lines + "\n");
    }
    std::string found(const std::string& wanted) const {
        const auto step = find_running_step(wanted, environment_);
        return step ? step->id + " of job " + step->job : step.error().message();
    }

    MadeUpFolder folder_;
    MapEnvironment environment_{{{"PATH", folder_.path() + ":/usr/bin:/bin"}}};
};

TEST_F(SlurmCommandsTest, FindRunningStepAsksForTheStepThenForItsJob) {
    answer("scontrol", "[ \"$*\" = \"--oneliner show step 4_3\" ] && cat <<'end'\n" +
                           line("4_3.0", "node01", 1) + "end");
    answer("squeue", "[ \"$3\" = --jobs=4_3 ] && echo 7 4_3");
    EXPECT_EQ(found("4_3"), "4_3.0 of job 7");
    answer("squeue", "exit 2");
    EXPECT_EQ(found("4_3").rfind("distgpu: 4_3: ", 0), 0U);
}

// Components have the same number in a list of lines.
TEST_F(SlurmCommandsTest, FindRunningStepReadsComponentsFromJson) {
    const std::string json =
        json_step("5.0+0", "node01", "1") + ',' + json_step("5.0+1", "node02", "2");
    answer("scontrol", "if [ $1 = --json ]; then cat <<'end'\n{\"steps\":[" + json +
                           "]}\nend\nelse cat <<'end'\n" + line("5.0", "node01", 1) +
                           line("5.0", "node02", 2) + "end\nfi");
    answer("squeue", "echo 5 5");
    EXPECT_EQ(found("5.0+1"), "5.0+1 of job 5");
    answer("scontrol", "[ $1 != --json ] && printf '%s' '" + line("5.0", "node01", 1) +
                           line("5.0", "node02", 2) + "'");
    EXPECT_NE(found("5.0+1"), "5.0+1 of job 5");
}

TEST_F(SlurmCommandsTest, FindRunningStepTellsAnEndedJobFromASilentSlurmctld) {
    answer("scontrol", "echo 'Job step 5. not found'; exit 1");
    EXPECT_EQ(found("5"), none("5"));
    answer("scontrol", "echo 'slurm_load_job_steps error: Invalid job id specified' >&2; exit 3");
    EXPECT_EQ(found("5"), none("5"));
    answer("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 3");
    EXPECT_NE(found("5"), none("5"));
}

TEST_F(SlurmCommandsTest, CancelStepNamesItToScancel) {
    answer("scancel", "echo \"$@\"");
    EXPECT_EQ(*cancel_step("5.0", environment_), "5.0\n");
}

}  // namespace
}  // namespace distgpu
