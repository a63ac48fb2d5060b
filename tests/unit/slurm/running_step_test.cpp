// Which step of a job is meant, of what scontrol lists.
#include "slurm/running_step.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

// "job|component|step", or "none".
std::string parsed(std::string_view text) {
    const auto name = StepName::parse(text);
    return name ? name->job + '|' + name->component + '|' + name->step : "none";
}

TEST(StepName, HasAJobAndPerhapsAComponentAndAStep) {
    struct Row {
        const char* text;
        const char* parsed;
    };
    for (const Row& row : {
             Row{"13", "13||"},
             {"13.0", "13||0"},
             {"13.batch", "13||batch"},
             {"13.extern", "13||extern"},
             {"13.interactive", "13||interactive"},
             {"13+1", "13|1|"},
             {"13+1.0", "13|1|0"},
             {"13.0+1", "13|1|0"},
             {"12_3", "12_3||"},
             {"12_3.4", "12_3||4"},
         }) {
        EXPECT_EQ(parsed(row.text), row.parsed) << row.text;
    }
}

TEST(StepName, IsNothingElse) {
    for (const std::string_view text :
         {"",    "x",       "--all", "-5",    ".0",         "5.",   "5+",  "5_",    "_3",
          "+1",  "5.0+",    "5;id",  "5 0",   "5\n0",       "5/0",  "5.x", "5.0.0", "5+1.0+1",
          "5+x", "5_[3-4]", "5_3_4", "5+1+1", "4294967296", "5.-1", "5.0 "}) {
        EXPECT_EQ(parsed(text), "none") << text;
    }
}

// As Slurm 22.05 prints it.
std::string line(const std::string& id, const std::string& nodes, int tasks,
                 const std::string& name = "sleep", const std::string& state = "RUNNING") {
    return "StepId=" + id +
           " UserId=999 StartTime=2026-11-24T08:40:31 TimeLimit=UNLIMITED State=" + state +
           " Partition=main NodeList=" + nodes + " Nodes=2 CPUs=2 Tasks=" + std::to_string(tasks) +
           " Name=" + name +
           " Network=(null) TRES=cpu=2,mem=0,node=2 ResvPorts=(null) "
           "CPUFreqReq=Default Dist=Block SrunHost:Pid=node01:79\n";
}

const std::string batch = line("5.batch", "node01", 1, "batch");
const std::string extern_step = line("5.extern", "node[01-02]", 2, "extern");
const std::string interactive = line("5.interactive", "node01", 1, "interactive");
const std::string first = line("5.0", "node[01-02]", 8);
const std::string second = line("5.1", "node02", 1, "eval");
const std::string both_components =
    line("5.batch", "node01", 1) + line("5.0+0", "node01", 1) + line("5.0+1", "node02", 2);

std::string description(const Result<std::optional<RunningStep>>& step) {
    if (!step) return step.error().message();
    if (!*step) return "none";
    std::string text = (*step)->id;
    if ((*step)->is_component) text += " as a part";
    for (const StepPart& part : (*step)->parts) {
        text += ", " + std::to_string(part.tasks) + " on " + part.nodes.to_string() + " from " +
                std::to_string(part.first_task);
    }
    return text;
}

std::string chosen(const std::string& wanted, const std::string& listed) {
    const auto name = StepName::parse(wanted);
    return description(choose_step(wanted, *name, name->job, parse_steps(listed)));
}

TEST(ChooseStep, IsTheOneThatIsMeantOrMustBeNamed) {
    struct Row {
        const char* wanted;
        std::string listed;
        std::string chosen;
    };
    const std::string three = batch + first + second;
    for (const Row& row : {
             // Of a job the one of srun, else salloc's shell, else the batch script.
             Row{"5", extern_step + batch + first, "5.0, 8 on node[01-02] from 0"},
             {"5", extern_step + interactive + first, "5.0, 8 on node[01-02] from 0"},
             {"5", extern_step + interactive, "5.interactive, 1 on node01 from 0"},
             {"5", extern_step + batch, "5.batch, 1 on node01 from 0"},
             {"5", extern_step, "none"},
             {"5", "", "none"},
             {"5", three,
              "distgpu: 5: it has 2 running steps; name one of them: 5.0 (sleep), 5.1 (eval)"},
             {"5.1", three, "5.1, 1 on node02 from 0"},
             {"5.batch", three, "5.batch, 1 on node01 from 0"},
             {"5.extern", extern_step + first, "5.extern, 2 on node[01-02] from 0"},
             {"5.2", three, "none"},
             {"5+1", batch + first, "none"},
             // Not one that has ended or has not begun.
             {"5", batch + line("5.0", "node01", 1, "a", "COMPLETED") + second,
              "5.1, 1 on node02 from 0"},
             {"5.0", line("5.0", "node01", 1, "a", "PENDING"), "none"},
             // Of a heterogeneous step all components, or one.
             {"5", both_components, "5.0, 1 on node01 from 0, 2 on node02 from 1"},
             {"5.0", both_components, "5.0, 1 on node01 from 0, 2 on node02 from 1"},
             {"5.0+1", both_components, "5.0+1 as a part, 2 on node02 from 1"},
             {"5+1", both_components, "5.0+1 as a part, 2 on node02 from 1"},
             {"5.0+2", both_components, "none"},
             {"5.0", line("5.0+1", "node02", 2) + line("5.0+0", "node01", 3),
              "5.0, 3 on node01 from 0, 2 on node02 from 3"},
             // It reads nothing into other text.
             {"5", "Job step 5. not found\n", "none"},
             {"5", "StepId=5.0 State=RUNNING\n", "none"},
             {"5", "StepId=5.0 State=RUNNING NodeList=node[01- Tasks=1\n", "none"},
             {"5", "StepId=5.0 State=RUNNING NodeList=node01 Tasks=many\n", "none"},
             {"5", "StepId=5 State=RUNNING NodeList=node01 Tasks=1\n", "none"},
             {"5", "\n \n= =\nStepId\n", "none"},
         }) {
        EXPECT_EQ(chosen(row.wanted, row.listed), row.chosen) << row.wanted << "\n" << row.listed;
    }
}

// Under `srun --pty bash`, or while another `distgpu why` samples.
TEST(ChooseStep, AShellAndDistgpuGiveWayToAProgram) {
    const std::string shell = line("5.0", "node01", 1, "bash");
    const std::string own = line("5.2", "node[01-02]", 2, "distgpu");
    EXPECT_EQ(chosen("5", shell + second + own), "5.1, 1 on node02 from 0");
    EXPECT_EQ(chosen("5", shell), "5.0, 1 on node01 from 0");
    EXPECT_EQ(chosen("5", own), "5.2, 2 on node[01-02] from 0");
    EXPECT_EQ(chosen("5.0", shell + second), "5.0, 1 on node01 from 0");
    EXPECT_EQ(chosen("5", shell + own),
              "distgpu: 5: it has 2 running steps; name one of them: 5.0 (bash), 5.2 (distgpu)");
    // `srun bash train.sh`.
    EXPECT_EQ(chosen("5", line("5.0", "node01", 4, "bash") + second),
              "distgpu: 5: it has 2 running steps; name one of them: 5.0 (bash), 5.1 (eval)");
}

TEST(ChooseStep, ListsTenOfMany) {
    std::string listed;
    for (int step = 0; step < 12; ++step) {
        listed += line("5." + std::to_string(step), "node01", 1, "a");
    }
    EXPECT_EQ(chosen("5", listed),
              "distgpu: 5: it has 12 running steps; name one of them: 5.0 (a), 5.1 (a), 5.2 (a), "
              "5.3 (a), 5.4 (a), 5.5 (a), 5.6 (a), 5.7 (a), 5.8 (a), 5.9 (a), and 2 more");
}

// Each component has its own job, "5" and "6".
std::vector<StepPart> het_job() {
    auto parts = parse_steps(line("5.batch", "node01", 1) + line("5.0", "node01", 1) +
                             line("6.0", "node02", 2));
    for (StepPart& part : parts) part.component = {"5", part.job == "5" ? "0" : "1"};
    return parts;
}

TEST(ChooseStep, OfAHeterogeneousJobHasAllComponentsOrOne) {
    const auto chosen_of = [](const std::string& wanted) {
        return description(choose_step(wanted, *StepName::parse(wanted), "5", het_job()));
    };
    EXPECT_EQ(chosen_of("5"), "5.0, 1 on node01 from 0, 2 on node02 from 1");
    EXPECT_EQ(chosen_of("5.0"), "5.0, 1 on node01 from 0, 2 on node02 from 1");
    for (const char* const one : {"5+1", "5.0+1", "5+1.0"}) {
        EXPECT_EQ(chosen_of(one), "5+1.0 as a part, 2 on node02 from 1") << one;
    }
    EXPECT_EQ(chosen_of("5+2"), "none");
}

TEST(StepPart, HasTheIdThatSlurmstepdKnows) {
    auto parts = parse_steps(line("4_3.0", "node01", 1));
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].job, "4_3");
    parts[0].job = "7";
    EXPECT_EQ(parts[0].numeric_id(), "7.0");
}

// As 26.05.3 prints them.
std::string json_step(const std::string& id, const std::string& nodes, const std::string& tasks,
                      const std::string& state = "RUNNING") {
    return R"({"name":"sleep","nodes":")" + nodes + R"(","number_tasks":)" + tasks +
           R"(,"state":[")" + state + R"("],"id":")" + id + R"("})";
}

std::string chosen_of_json(const std::string& wanted, const std::string& steps) {
    const auto name = StepName::parse(wanted);
    return description(
        choose_step(wanted, *name, name->job, parse_steps_json(R"({"steps":[)" + steps + "]}")));
}

TEST(ChooseStep, OfAHeterogeneousStepAsJson) {
    const std::string both =
        json_step("5.0+0", "node01", "1") + ',' + json_step("5.0+1", "node02", "2");
    EXPECT_EQ(chosen_of_json("5.0+1", both), "5.0+1 as a part, 2 on node02 from 1");
    EXPECT_EQ(chosen_of_json("5.0", both), "5.0, 1 on node01 from 0, 2 on node02 from 1");
    EXPECT_EQ(chosen_of_json("5.0+0", json_step("5.0+0", "node01", "1", "COMPLETED")), "none");
}

TEST(ChooseStep, ReadsNothingIntoOtherJson) {
    for (const std::string& step :
         {json_step("5.0", "node[01-", "1"), json_step("5.0", "node01", "-1"),
          json_step("5.0", "node01", R"("1")"), json_step("5", "node01", "1"), std::string("{}"),
          std::string("{")}) {
        EXPECT_EQ(chosen_of_json("5.0", step), "none") << step;
    }
}

}  // namespace
}  // namespace distgpu
