// The step's folder: those of steps whose `distgpu exec` was killed go with the next one's, and
// nothing else does. What a companion said.
#include "base/io/files.h"
#include "exec/supervise.h"
#include "made_up_folder.h"
#include "node/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>

namespace distgpu {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* boot_id = "/proc/sys/kernel/random/boot_id";

class StepFolderTest : public testing::Test {
  protected:
    StepFolderTest() { setenv("RAY_TMPDIR", folder_.path().c_str(), 1); }
    ~StepFolderTest() override { unsetenv("RAY_TMPDIR"); }

    // As one that was killed leaves it, so long ago.
    std::string left(const std::string& name, std::chrono::seconds age,
                     const std::string& owner = *read_trimmed(boot_id) + " another") const {
        folder_.write(name + "/session/logs/raylet.out", "");
        folder_.write(name + "/.distgpu", owner + "\n");
        fs::last_write_time(folder_.path(name + "/.distgpu"),
                            fs::file_time_type::clock::now() - age);
        return folder_.path(name);
    }

    const MadeUpFolder folder_;
    const fs::path around_ = folder_.path();
    const FolderRule rule_{"RAY_TMPDIR", "ray-", 100};
};

TEST_F(StepFolderTest, TakesAwayWhatKilledStepsLeft) {
    const std::string on_head = left("ray-aaaaaa", 2min);
    { const auto folder = StepFolder::make(rule_); }
    EXPECT_FALSE(fs::exists(on_head));
    const std::string on_other = left("ray-aaaaaa", 2min);
    { const auto folder = StepFolder::make(rule_, around_ / "ray-bbbbbb"); }
    EXPECT_FALSE(fs::exists(on_other));
    EXPECT_TRUE(fs::is_empty(around_));
}

// Whose locks this node need not see.
TEST_F(StepFolderTest, TakesAwayOnlyWhatThisNodeLeft) {
    const std::string earlier_boot = left("ray-aaaaaa", 1h, "0-1 " + host_name());
    const std::string other_node = left("ray-bbbbbb", 1h, "0-1 another");
    const std::string unknown = left("ray-cccccc", 1h, "");
    const std::string nameless = left("ray-dddddd", 1h, " " + host_name());
    std::string own;
    {
        const auto folder = StepFolder::make(rule_);
        own = *read_trimmed(folder->path() + "/.distgpu");
    }
    EXPECT_EQ(own, *read_trimmed(boot_id) + " " + host_name());
    EXPECT_FALSE(fs::exists(earlier_boot));
    for (const std::string& path : {other_node, unknown, nameless}) {
        EXPECT_TRUE(fs::exists(path)) << path;
    }
}

TEST_F(StepFolderTest, LeavesEverythingElse) {
    auto running = StepFolder::make(rule_);
    ASSERT_TRUE(running);
    fs::last_write_time(running->path() + "/.distgpu", fs::file_time_type::clock::now() - 1h);
    const std::string just_made = left("ray-cccccc", 10s);
    const std::string of_another_name = left("raytraced", 1h);
    const std::string elsewhere = left("elsewhere", 1h);
    fs::create_directory_symlink(elsewhere, around_ / "ray-dddddd");
    fs::create_directory(around_ / "ray-eeeeee");  // the user's own
    { const auto folder = StepFolder::make(rule_); }
    for (const std::string& path :
         {running->path(), just_made, of_another_name, elsewhere, (around_ / "ray-dddddd").string(),
          (around_ / "ray-eeeeee").string()}) {
        EXPECT_TRUE(fs::exists(path)) << path;
    }
}

TEST_F(StepFolderTest, IsNoLongerThanItsRuleAllows) {
    const std::string path = around_ / "ray-XXXXXX";
    EXPECT_TRUE(StepFolder::make({"RAY_TMPDIR", "ray-", path.size()}));
    EXPECT_EQ(StepFolder::make({"RAY_TMPDIR", "ray-", path.size() - 1}).error().message(),
              "distgpu: " + path + ": longer than " + std::to_string(path.size() - 1) +
                  " bytes, too long for the sockets in it; set RAY_TMPDIR to a folder with a "
                  "shorter path");
}

// What another process prints into its pipe is not waited for.
TEST(NodeProcesses, SayWhatTheCompanionSaidByThen) {
    NodeCommands commands;
    commands.companion = {"sh", "-c", "yes more & sleep 0.3; kill -KILL $$"};
    commands.ready_text = "up";
    NodeProcesses processes(commands);
    ASSERT_FALSE(processes.start_companion(false));
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    ASSERT_EQ(processes.remove_ended(child), NodeProcesses::Role::companion);
    EXPECT_THAT(processes.last_output(), testing::HasSubstr("more\n"));
    kill(-child, SIGKILL);
}

}  // namespace
}  // namespace distgpu
