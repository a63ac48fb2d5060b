// The process that starts the host's programs for a task, with stand-ins for these.
#include "node/host_helper.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace distgpu {
namespace {

class HostHelperTest : public testing::Test {
  protected:
    // The status with which a shell's lines end.
    Result<int> status_of(const std::string& lines, const std::optional<HelperUser>& user = {}) {
        folder_.write("program", "#!/bin/sh\n" + lines + "\n");
        std::filesystem::permissions(folder_.path("program"), std::filesystem::perms{0755});
        std::filesystem::permissions(folder_.path(""), std::filesystem::perms{0755});
        return HostHelper::start(user).and_then([&](HostHelper helper) {
            return helper.run({{folder_.path("program")}, environment_}, std::chrono::seconds(10));
        });
    }

    MadeUpFolder folder_;
    MapEnvironment environment_{{{"PATH", "/bin:/usr/bin"}}};
};

// With no capability there is no way back.
TEST_F(HostHelperTest, WhatWasRootIsTheUserForGood) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto status = status_of(R"sh([ "$(id -u) $(id -g) $(id -G)" = "65533 65532 65532 7 9" ] &&
[ "$(grep -cE '^Cap[^B]..:[[:space:]]*0+$' /proc/self/status)" = 4 ] &&
[ "$(grep -cE '^[UG]id:([[:space:]]6553[23]){4}$' /proc/self/status)" = 2 ])sh",
                                  HelperUser{65533, 65532, {7, 9}});
    ASSERT_TRUE(status) << status.error().problem;
    EXPECT_EQ(*status, 0);
}

TEST_F(HostHelperTest, HasNoFileOfTheProcessThatStartedIt) {
    const int file = open("/dev/null", O_RDONLY);  // handed on by execve()
    // The fifth is the folder that ls reads.
    EXPECT_EQ(*status_of("[ $(ls /proc/self/fd | wc -l) = 5 ]"), 0);
    close(file);
}

TEST_F(HostHelperTest, ServesOneAfterTheOther) {
    auto helper = HostHelper::start({});
    ASSERT_TRUE(helper);
    for (const char* status : {"0", "7", "1"}) {
        const auto ended =
            helper->run({{"/bin/sh", "-c", std::string("exit ") + status}, environment_},
                        std::chrono::seconds(10));
        EXPECT_EQ(*ended, std::stoi(status) << 8U);
    }
    // And waits no longer than it is told.
    EXPECT_EQ(
        helper->run({{"/bin/sleep", "60"}, environment_}, std::chrono::seconds(1)).error().problem,
        "did not end");
}

TEST_F(HostHelperTest, RefusesWhatIsLongerThanItsBounds) {
    auto helper = HostHelper::start({});
    ASSERT_TRUE(helper);
    const auto problem = [&](const std::vector<std::string>& words) {
        const auto ended = helper->run({words, environment_}, std::chrono::seconds(10));
        return ended ? "" : ended.error().problem;
    };
    EXPECT_EQ(problem(std::vector<std::string>(65, "/bin/true")), "Argument list too long");
    EXPECT_EQ(problem({"/bin/true", std::string(std::size_t{9} << 20U, 'x')}),
              "Argument list too long");
    EXPECT_EQ(problem({}), "Argument list too long");
    EXPECT_EQ(problem({"/nowhere"}), "cannot be started");
    EXPECT_EQ(problem({"/bin/true"}), "");
}

}  // namespace
}  // namespace distgpu
