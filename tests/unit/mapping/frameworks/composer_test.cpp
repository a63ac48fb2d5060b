// Composer's launcher: node-level ranks, and yet the size of the world.
#include "mapping/frameworks/registry.h"
#include "task_values.h"

namespace distgpu {
namespace {

TEST(Composer, CountsTheProcessesOfAllNodes) {
    EXPECT_EQ(values(composer, sample_task()), (Values{{"MASTER_ADDR", "node01"},
                                                       {"MASTER_PORT", "29500"},
                                                       {"NODE_RANK", "1"},
                                                       {"WORLD_SIZE", "15"},
                                                       {"LOCAL_WORLD_SIZE", "5"},
                                                       {"BASE_RANK", "5"}}));
}

TEST(Composer, RefusesUnequalNodesWithoutANumberOfProcesses) {
    SampleStep step("composer", "n[1-2]", "1(x2)");
    EXPECT_EQ(refusal_of(step), "");
    step.facts.cpus_per_node = "8(x2)";
    EXPECT_EQ(refusal_of(step), "");
    step.facts.cpus_per_node = "8,4";
    EXPECT_EQ(refusal_of(step),
              "distgpu: --distgpu=composer: the nodes differ (CPUs: 8,4), but Composer starts the "
              "same number of processes on each; set the number with --distgpu=composer,nproc=N");
    SampleStep told("composer,nproc=4", "n[1-2]", "1(x2)");
    told.facts.cpus_per_node = "8,4";
    EXPECT_EQ(refusal_of(told), "");
    // The job's nodes differ, the step has one of them.
    SampleStep alone("composer", "n1", "1");
    alone.facts.cpus_per_node = "8,4";
    EXPECT_EQ(refusal_of(alone), "");
}

TEST(Composer, RefusesSeveralTasksOnANode) {
    EXPECT_EQ(refusal_of({"composer,nproc=2", "n[1-2]", "2,1"}),
              "distgpu: --distgpu=composer: 2 tasks on a node, but this mode's launcher starts the "
              "processes itself and needs one task per node; use --ntasks-per-node=1 "
              "--distgpu=composer, or --distgpu=pytorch and the script without its launcher");
}

}  // namespace
}  // namespace distgpu
