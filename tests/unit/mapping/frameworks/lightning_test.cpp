// What Lightning compares with SLURM_*, and where it starts processes itself.
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <algorithm>

namespace distgpu {
namespace {

TEST(Lightning, TellsTheTasksOfANodeAsSlurmWould) {
    const SampleStep step("lightning", "n[1-2]", "4(x2)");
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    const Values set = values(lightning, task);
    EXPECT_EQ(set.at("SLURM_NTASKS_PER_NODE"), "4");
    EXPECT_EQ(set.at("RANK"), "6");
    EXPECT_EQ(set.at("MASTER_ADDR"), "node01");
}

// slurm.py does not look for Slurm in a job of one of two names.
TEST(Lightning, ShowsSlurmInAJobThatIsTakenForInteractive) {
    SampleStep step("lightning", "n[1-2]", "4(x2)");
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    for (const char* name : {"", "train", "bash2", "Interactive"}) {
        step.facts.job_name = name;
        EXPECT_EQ(values(lightning, task).count("SLURM_JOB_NAME"), 0) << name;
    }
    for (const char* name : {"bash", "interactive"}) {
        step.facts.job_name = name;
        EXPECT_EQ(values(lightning, task).at("SLURM_JOB_NAME"), "lightning") << name;
    }
}

// slurm.py refuses a number of devices other than SLURM_NTASKS_PER_NODE.
TEST(Lightning, RefusesUnequalNodes) {
    EXPECT_EQ(refusal_of({"lightning", "n[1-2]", "2(x2)"}), "");
    EXPECT_EQ(refusal_of({"lightning", "n[1-3]", "1,3,2"}),
              "distgpu: --distgpu=lightning: the nodes have 1 to 3 tasks, but Lightning needs the "
              "same number on every node; use --ntasks-per-node=N");
}

TEST(LightningPerNode, GivesNodeLevelFactsAlone) {
    const SampleStep step("lightning,per-node", "n[1-2]", "1(x2)");
    EXPECT_EQ(values(*step.request.framework, sample_task()),
              (Values{{"MASTER_ADDR", "node01"},
                      {"MASTER_PORT", "29500"},
                      {"NODE_RANK", "1"},
                      {"SLURM_JOB_NAME", "interactive"}}));
    // LOCAL_RANK would keep Lightning from starting processes.
    const auto names = unset_patterns(*step.request.framework);
    for (const char* name : {"LOCAL_RANK", "RANK", "WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_*"}) {
        EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    }
    EXPECT_EQ(refusal_of(step), "");
    EXPECT_NE(refusal_of({"lightning,per-node", "n[1-2]", "2,1"}), "");
}

}  // namespace
}  // namespace distgpu
