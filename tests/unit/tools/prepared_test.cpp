// A task that srun --distgpu has prepared already.
#include "exec/prepared.h"

#include "map_environment.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

TaskPlan task() {
    TaskPlan task;
    task.set = {{"RANK", "1"}, {"MASTER_PORT", "2000"}, {"OMP_NUM_THREADS", "4"}, {"TF", "{}"}};
    return task;
}

TEST(Prepared, IsMarked) {
    EXPECT_FALSE(is_prepared(MapEnvironment(Variables{{"RANK", "1"}})));
    EXPECT_TRUE(is_prepared(MapEnvironment(Variables{{"SLURM_DISTGPU_GIVEN", ""}})));
}

TEST(Prepared, AgreesInRanksWhateverTheRestIs) {
    EXPECT_EQ(
        disagreement(MapEnvironment(Variables{{"RANK", "1"}, {"MASTER_PORT", "3000"}}), task()),
        std::nullopt);
}

TEST(Prepared, DisagreesInRanks) {
    EXPECT_EQ(disagreement(MapEnvironment(Variables{{"RANK", "2"}}), task())->message(),
              "distgpu: RANK: 2 from srun --distgpu, 1 from distgpu exec; use one of the two with "
              "one mode, or unset SLURM_DISTGPU_GIVEN");
    EXPECT_EQ(disagreement(MapEnvironment(Variables{}), task())->message(),
              "distgpu: RANK: not set by srun --distgpu, 1 by distgpu exec; use one of the two "
              "with one mode, or unset SLURM_DISTGPU_GIVEN");
}

}  // namespace
}  // namespace distgpu
