// What Slurm's commands print, and how they are asked.
#include "slurm/slurm_queries.h"

#include "base/environment.h"
#include "dead_folder.h"
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
    EXPECT_EQ(message_of(run_slurm_command(environment, {"sh", "-c", "sleep 60"},
                                           std::chrono::seconds(1))),
              "distgpu: sh -c sleep 60: no answer within 1 s");
    EXPECT_EQ(
        message_of(
            run_slurm_command(environment, {"no-such-command", "ping"}, std::chrono::seconds(20))),
        "distgpu: no-such-command ping: no-such-command is in no folder of PATH that answers");
}

TEST(SlurmCommand, GetsPathAndSlurmConf) {
    const MadeUpFolder folder;
    folder.write_program("scontrol", "#!/bin/sh\necho \"$1 $PATH $SLURM_CONF\"\n");
    const EnvironmentCopy environment({{"PATH", folder.path()}, {"SLURM_CONF", "/conf"}});
    EXPECT_EQ(*run_slurm_command(environment, {"scontrol", "ping"}, std::chrono::seconds(20)),
              "ping " + folder.path() + " /conf\n");
}

TEST(SlurmCommand, IsFoundBehindAFolderWhoseFileServerIsDead) {
    const MadeUpFolder folder;
    folder.write_program("scontrol", "#!/bin/sh\necho found\n");
    bool skipped = false;
    EXPECT_TRUE(with_dead_folder(
        [&](const std::string& dead) {
            const EnvironmentCopy environment({{"PATH", dead + ":" + folder.path()}});
            const auto text =
                run_slurm_command(environment, {"scontrol", "ping"}, std::chrono::seconds(20));
            return text && *text == "found\n";
        },
        skipped));
    if (skipped) GTEST_SKIP() << "only root can mount a file system";
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

TEST(CancelStep, NamesItToScancel) {
    const MadeUpFolder folder;
    folder.write_program("scancel", "#!/bin/sh\necho \"$@\"\n");
    const MapEnvironment environment{{{"PATH", folder.path() + ":/usr/bin:/bin"}}};
    EXPECT_EQ(*cancel_step("5.0", environment), "5.0\n");
}

}  // namespace
}  // namespace distgpu
