// How a command of Slurm is started for its output.
#include "slurm/slurm_command.h"

#include "base/environment_copy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace distgpu {
namespace {

TEST(SlurmCommand, AnErrorNamesTheCommandWithoutItsVariables) {
    EnvironmentCopy environment;
    environment.set("PATH", "/usr/bin:" + std::string(400, 'x'));
    environment.set("SLURM_CONF", "/none");
    const auto text =
        run_slurm_command(environment, {"sh", "-c", "exit 3"}, std::chrono::seconds(20));
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message(), "distgpu: sh -c exit 3: ended with status 3");
}

}  // namespace
}  // namespace distgpu
