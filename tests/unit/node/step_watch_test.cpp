// What watches a step from beside its first task, with a stand-in for the command.
#include "node/step_watch.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

class StepWatchTest : public testing::Test {
  protected:
    // In a process of its own, which then waits for its children and ends with the status of that.
    int start(const std::string& lines) {
        folder_.write("distgpu", "#!/bin/sh\n" + lines + "\n");
        std::filesystem::permissions(folder_.path("distgpu"), std::filesystem::perms::owner_all);
        const pid_t task = fork();
        if (task == 0) {
            const bool started = begin().has_value();
            const bool has_child = waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
            for (int i = 0; i < 1000 && !std::filesystem::exists(folder_.path("told")); ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            _exit(started && !has_child ? 0 : 1);
        }
        int status = -1;
        waitpid(task, &status, 0);
        return status;
    }

    Result<std::monostate> begin() {
        return HostHelper::start({}).and_then(
            [this](HostHelper helper) { return start_step_watch(helper, watch_, environment_); });
    }

    std::string told() const {
        std::ostringstream text;
        text << std::ifstream(folder_.path("told")).rdbuf();
        return text.str();
    }

    MadeUpFolder folder_;
    StepWatch watch_{.command = folder_.path("distgpu"),
                     .watch = {.on = true, .minutes = 30, .ends = true},
                     .step = "5.0"};
    MapEnvironment environment_{{{"RANK", "0"},
                                 {"SESSION", std::to_string(getsid(0))},
                                 {"LD_PRELOAD", "nothing.so"},
                                 {"PATH", "/bin:/usr/bin"}}};
};

// Its own session, so that it gets no signal meant for the program's group, and the task's end.
TEST_F(StepWatchTest, IsNoChildOfTheTaskAndHoldsItsEnd) {
    const std::string lines = R"sh(cd ${0%/*}
[ "$(cut -d' ' -f6 /proc/$$/stat)" != $SESSION ] && session=own
echo "$* $RANK$LD_PRELOAD $session" >next
readlink /proc/$$/fd/3 >>next
mv next told)sh";
    EXPECT_EQ(start(lines), 0);
    EXPECT_EQ(told().substr(0, told().find('\n')), "why 5.0 --watch 30m:end 0 own");
    EXPECT_NE(told().find("pidfd"), std::string::npos) << told();
}

TEST_F(StepWatchTest, WithoutTheCommandThereIsNone) {
    watch_.command = "/nowhere/distgpu";
    const auto started = begin();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().object.rfind("watch=30:end: /nowhere/distgpu on ", 0), 0U);
    EXPECT_EQ(started.error().problem, "cannot be started");
    EXPECT_EQ(started.error().remedy, "the step goes on without");
}

}  // namespace
}  // namespace distgpu
