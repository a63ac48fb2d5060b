// The check that runs before the program, with stand-ins for the command.
#include "node/step_check.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace distgpu {
namespace {

class StepCheckTest : public testing::Test {
  protected:
    // Runs a shell's lines in place of `distgpu`.
    Result<StepVerdict> verdict_of(const std::string& lines, std::chrono::seconds patience = {}) {
        folder_.write("distgpu", "#!/bin/sh\n" + lines + "\n");
        const std::string path = folder_.path("distgpu");
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return run_step_check({.command = path, .patience = patience}, environment_);
    }

    MadeUpFolder folder_;
    MapEnvironment environment_{
        {{"RANK", "3"}, {"LD_PRELOAD", "nothing.so"}, {"PATH", "/bin:/usr/bin"}}};
};

TEST_F(StepCheckTest, ItsStatusIsTheVerdict) {
    EXPECT_EQ(*verdict_of("exit 0"), StepVerdict::ready);
    EXPECT_EQ(*verdict_of("exit 1"), StepVerdict::not_ready);
    EXPECT_EQ(*verdict_of("exit 4"), StepVerdict::incomplete);
}

TEST_F(StepCheckTest, RunsTheGateWithTheTasksVariablesButTheLinkers) {
    EXPECT_EQ(*verdict_of(R"([ "$*" = "check --gate --timeout=7" ] && [ "$RANK" = 3 ] &&
[ -z "$LD_PRELOAD" ] && ! read -r line && [ ! -e /proc/self/fd/4 ])",
                          std::chrono::seconds(7)),
              StepVerdict::ready);
}

TEST_F(StepCheckTest, WhatIsNoVerdictIsAnError) {
    EXPECT_EQ(verdict_of("exit 3").error().problem, "ended with status 3");
    EXPECT_EQ(verdict_of("kill -9 $$").error().problem, "ended by signal 9");
    const auto missing = run_step_check({.command = "/nowhere/distgpu"}, environment_);
    EXPECT_EQ(missing.error().problem, "cannot be started");
    EXPECT_NE(missing.error().object.find("/nowhere/distgpu"), std::string::npos);
    EXPECT_NE(missing.error().remedy.find("command=PATH"), std::string::npos);
}

}  // namespace
}  // namespace distgpu
