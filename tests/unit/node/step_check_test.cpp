// The check that runs before the program, with stand-ins for the command.
#include "node/step_check.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

class StepCheckTest : public testing::Test {
  protected:
    // Runs a shell's lines in place of `distgpu`.
    Result<StepVerdict> verdict_of(const std::string& lines, std::chrono::seconds patience = {}) {
        folder_.write("distgpu", "#!/bin/sh\n" + lines + "\n");
        const std::string path = folder_.path("distgpu");
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return run(path, patience);
    }

    Result<StepVerdict> run(const std::string& path, std::chrono::seconds patience = {}) {
        return HostHelper::start({}).and_then([&](HostHelper helper) {
            return run_step_check(helper, {.command = path, .patience = patience}, launch_, task_);
        });
    }

    MadeUpFolder folder_;
    MapEnvironment launch_{
        {{"RANK", "3"}, {"LD_PRELOAD", "nothing.so"}, {"PATH", "/bin:/usr/bin"}}};
    MapEnvironment task_{{{"OF_IMAGE", "text\nof two lines"}, {"LD_PRELOAD", "image.so"}}};
};

TEST_F(StepCheckTest, ItsStatusIsTheVerdict) {
    EXPECT_EQ(*verdict_of("exit 0"), StepVerdict::ready);
    EXPECT_EQ(*verdict_of("exit 1"), StepVerdict::not_ready);
    EXPECT_EQ(*verdict_of("exit 4"), StepVerdict::incomplete);
}

TEST_F(StepCheckTest, RunsTheGateWithTheVariablesOfTheLaunchButTheLinkers) {
    EXPECT_EQ(*verdict_of(R"([ "$*" = "check --gate --variables=/proc/self/fd/0 --timeout=7" ] &&
[ "$RANK" = 3 ] && [ -z "$LD_PRELOAD$OF_IMAGE" ] && [ ! -e /proc/self/fd/4 ])",
                          std::chrono::seconds(7)),
              StepVerdict::ready);
}

// What an image sets is to be judged, and is not the check's own.
TEST_F(StepCheckTest, HasTheTasksVariablesAsData) {
    EXPECT_EQ(*verdict_of(R"(tr '\0\n' '|/' </proc/self/fd/0 >"${0%/*}/data")"),
              StepVerdict::ready);
    std::ostringstream text;
    text << std::ifstream(folder_.path("data")).rdbuf();
    EXPECT_EQ(text.str(), "LD_PRELOAD=image.so|OF_IMAGE=text/of two lines|");
}

TEST_F(StepCheckTest, HasTheCpusAndLimitsOfTheTask) {
    rlimit before{};
    getrlimit(RLIMIT_CORE, &before);
    auto helper = HostHelper::start({});
    ASSERT_TRUE(helper);
    const rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_CORE, &none);
    folder_.write("distgpu", "#!/bin/sh\nexit $(ulimit -c)\n");
    const std::string path = folder_.path("distgpu");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const auto verdict = run_step_check(*helper, {.command = path}, launch_, task_);
    setrlimit(RLIMIT_CORE, &before);
    EXPECT_EQ(*verdict, StepVerdict::ready);
}

// Which may be hung itself, and nobody would hear its verdict.
TEST_F(StepCheckTest, EndsWithItsTask) {
    folder_.write("distgpu", "#!/bin/sh\necho $$ >\"${0%/*}/pid\"\nexec sleep 60\n");
    const std::string path = folder_.path("distgpu");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const pid_t task = fork();
    if (task == 0) {
        static_cast<void>(run(path));
        _exit(0);
    }
    const auto pid = [&] {
        pid_t number = 0;
        std::ifstream(folder_.path("pid")) >> number;
        return number;
    };
    const auto within_10_s = [](auto is_so) {
        for (int i = 0; i < 1000 && !is_so(); ++i) usleep(10'000);
        return is_so();
    };
    ASSERT_TRUE(within_10_s([&] { return pid() > 0; }));
    kill(task, SIGKILL);
    waitpid(task, nullptr, 0);
    const std::string status = "/proc/" + std::to_string(pid()) + "/cmdline";
    EXPECT_TRUE(within_10_s([&] {
        std::string words;
        std::ifstream(status) >> words;
        return words.empty();  // also of one that nobody has waited for
    }));
}

TEST_F(StepCheckTest, WhatIsNoVerdictIsAnError) {
    EXPECT_EQ(verdict_of("exit 3").error().problem, "ended with status 3");
    EXPECT_EQ(verdict_of("kill -9 $$").error().problem, "ended by signal 9");
    const auto missing = run("/nowhere/distgpu");
    EXPECT_EQ(missing.error().problem, "cannot be started");
    EXPECT_NE(missing.error().object.find("/nowhere/distgpu"), std::string::npos);
    EXPECT_NE(missing.error().remedy.find("command=PATH"), std::string::npos);
}

}  // namespace
}  // namespace distgpu
