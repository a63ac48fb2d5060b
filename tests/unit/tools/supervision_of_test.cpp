// What `distgpu exec` makes of the plan: the token of a service that knows one.
#include "exec/supervision_of.h"

#include "base/environment_copy.h"
#include "made_up_task.h"
#include "mapping/texts/variables.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

constexpr std::uint16_t port = 2000;

// Rank 0's part of a step of ray's in this environment.
PartCommands ray_parts(EnvironmentCopy& environment) {
    const OwnTask own = made_up_task("ray", port);
    return supervision_of(own, {"python", "train.py"}, environment).parts;
}

TEST(SupervisionOf, MakesATokenOfTheStepsSecret) {
    const std::string secret(64, 'a');
    EnvironmentCopy environment({{secret_variable, secret}, {"RAY_ADDRESS", "n1:2000"}});
    const PartCommands parts = ray_parts(environment);
    EXPECT_EQ(environment.get("RAY_AUTH_MODE"), "token");
    const std::string token = environment.get("RAY_AUTH_TOKEN").value_or("");
    EXPECT_EQ(token.size(), 64U);
    EXPECT_NE(token, secret);
    EXPECT_EQ(parts.query, (std::vector<std::string>{"ray", "get-auth-token"}));
    EXPECT_EQ(parts.environment,
              "export RAY_ADDRESS='n1:2000'\nexport RAY_AUTH_MODE='token'\n"
              "export RAY_AUTH_TOKEN='" +
                  token + "'\n");
}

TEST(SupervisionOf, KeepsATokenOfTheUsers) {
    EnvironmentCopy environment({{secret_variable, std::string(64, 'a')},
                                 {"RAY_AUTH_MODE", "token"},
                                 {"RAY_AUTH_TOKEN", "it's mine"}});
    const PartCommands parts = ray_parts(environment);
    EXPECT_EQ(parts.environment,
              "export RAY_AUTH_MODE='token'\nexport RAY_AUTH_TOKEN='it'\\''s mine'\n");
    EXPECT_FALSE(parts.query.empty());
}

TEST(SupervisionOf, SaysWhereThereIsNoToken) {
    EnvironmentCopy environment;
    testing::internal::CaptureStderr();
    const PartCommands parts = ray_parts(environment);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "distgpu: ray: no token, so whoever reaches this cluster's ports can run programs as "
              "you; start it with srun --distgpu=ray, or export RAY_AUTH_MODE=token and a "
              "RAY_AUTH_TOKEN of your own\n");
    EXPECT_TRUE(parts.query.empty());
    EXPECT_EQ(parts.environment, "");
}

TEST(SupervisionOf, AServerHasNoToken) {
    EnvironmentCopy environment({{"RAY_AUTH_MODE", "token"}, {"RAY_AUTH_TOKEN", "x"}});
    const OwnTask own = made_up_task("vllm", port);
    const PartCommands parts = supervision_of(own, {"vllm", "serve"}, environment).parts;
    EXPECT_EQ(parts.environment, "");
    EXPECT_TRUE(parts.query.empty());
}

}  // namespace
}  // namespace distgpu
