// Horovod over MPI, whose ranks are MPI's, and over Gloo.
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/registry.h"
#include "mapping/plan/plan.h"
#include "task_values.h"

#include <algorithm>

namespace distgpu {
namespace {

TEST(Horovod, TakesItsRanksFromMpi) {
    EXPECT_EQ(values(horovod, sample_task()), (Values{{"HOROVOD_CONTROLLER", "mpi"}}));
    const auto names = unset_patterns(horovod);
    for (const char* name : {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_GLOO_RENDEZVOUS_*"}) {
        EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    }
}

TEST(Horovod, RefusesAStepWithoutMpi) {
    SampleStep step("horovod", "n[1-2]", "2(x2)");
    for (const char* type : {"", "pmix"}) {
        step.facts.mpi_type = type;
        EXPECT_EQ(refusal_of(step), "") << type;
    }
    step.facts.mpi_type = "none";
    EXPECT_EQ(refusal_of(step),
              "distgpu: --distgpu=horovod: Horovod takes its ranks from MPI, but --mpi=none "
              "provides no MPI; use srun --mpi=pmix, or --distgpu=horovod,backend=gloo");
    EXPECT_EQ(SampleStep("horovod,backend=gloo", "n1", "2").request.framework->refuse, nullptr);
}

// The cross communicator joins the tasks that have the same local rank, one a
// node: of tasks 0,1,2 on n1, 3 on n2 and 4,5 on n3, the local ranks 0 are tasks
// 0, 3 and 4, the local ranks 1 tasks 1 and 5, and task 2 is alone.
TEST(HorovodGloo, CrossRanksAreAmongTasksWithTheSameLocalRank) {
    const SampleStep step("horovod,backend=gloo", "n[1-3]", "3,1,2");
    const StepView view = step.view();
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"0", "3"}, {"0", "2"}, {"0", "1"}, {"1", "3"}, {"2", "3"}, {"1", "2"}};
    for (std::uint32_t id = 0; id < 6; ++id) {
        const Placement place = step.layout.place(TaskId{id});
        TaskContext task = sample_task();
        task.rank = GlobalRank{id};
        task.local_rank = place.local_rank;
        task.node = place.node;
        task.step = &view;
        const Values set = values(*step.request.framework, task);
        EXPECT_EQ(set.at("HOROVOD_CROSS_RANK"), expected[id].first) << id;
        EXPECT_EQ(set.at("HOROVOD_CROSS_SIZE"), expected[id].second) << id;
        EXPECT_EQ(set.at("HOROVOD_RANK"), std::to_string(id));
        EXPECT_EQ(set.at("HOROVOD_GLOO_RENDEZVOUS_ADDR"), "node01");
        EXPECT_EQ(set.at("HOROVOD_GLOO_RENDEZVOUS_PORT"), "29500");
    }
}

}  // namespace
}  // namespace distgpu
