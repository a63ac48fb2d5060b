// The search for a step's ranks among the processes of this machine.
#include "report/rank_counters.h"

#include "inspect/sleeper.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <unistd.h>

namespace distgpu {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::Not;

// Later searches read only what the first has not seen.
TEST(FindRankProcesses, ReadsOtherProcessesOnce) {
    const Sleeper task({});
    const std::vector<StepProcess> tasks{{task.pid(), 3}};
    const auto is_the_task =
        ElementsAre(AllOf(Field(&RankProcess::rank, 3U), Field(&RankProcess::pid, task.pid())));
    const RankSearch first = find_rank_processes(tasks);
    EXPECT_THAT(first.ranks, is_the_task);
    EXPECT_THAT(first.others, Contains(getpid()));
    EXPECT_THAT(first.others, Not(Contains(task.pid())));

    const Sleeper new_one({});
    std::vector<pid_t> earlier = first.others;
    earlier.push_back(1 << 22);  // above all numbers: PID_MAX_LIMIT
    const RankSearch second = find_rank_processes(tasks, earlier);
    EXPECT_THAT(second.ranks, is_the_task);
    EXPECT_THAT(second.others, Contains(getpid()));
    EXPECT_THAT(second.others, Contains(new_one.pid()));
    EXPECT_TRUE(std::ranges::is_sorted(second.others));
}

}  // namespace
}  // namespace distgpu
