// What slurmctld is asked, and its answer as sattach prints it (run on 22.05 and 26.05).
#include "slurm/step_query.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

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
        const auto layout = ask_slurm(environment)({7, 2, 0});
        return layout ? "" : layout.error().message();
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

}  // namespace
}  // namespace distgpu
