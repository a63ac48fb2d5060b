// Which checks there are, when they apply, and how they are chosen.
#include "check/checks.h"

#include "base/format.h"
#include "map_environment.h"
#include "tools/made_up_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

TEST(CheckList, IsPrintedWithWhatEachLooksAt) {
    std::set<std::string_view> names;
    const std::string list = list_of_checks();
    EXPECT_THAT(list, testing::StartsWith("variables   The task's variables are set, "));
    for (const NamedCheck* check : all_checks()) {
        EXPECT_TRUE(names.insert(check->name).second) << check->name;
        EXPECT_EQ(check->description.back(), '.');
        EXPECT_NE(("\n" + list).find(formatted("\n{} ", check->name)), std::string::npos);
    }
}

// "gpus names".
std::string chosen(const std::optional<std::string>& only, const std::optional<std::string>& skip) {
    std::vector<std::string_view> names;
    const Checks checks = *choose_checks(only, skip);
    for (const NamedCheck* check : checks) names.push_back(check->name);
    return join(names, " ");
}

TEST(ChooseChecks, InTheOrderOfTheList) {
    EXPECT_EQ(
        chosen({}, {}),
        "variables ports cpus limits gpus memory nvlink fabric interfaces names nodes network");
    EXPECT_EQ(chosen("names,gpus", {}), "gpus names");
    EXPECT_EQ(chosen({}, "names,gpus"),
              "variables ports cpus limits memory nvlink fabric interfaces nodes network");
    EXPECT_EQ(chosen("names,gpus", "gpus"), "names");
    EXPECT_EQ(choose_checks("gpu", {}).error().message(),
              "distgpu: --only=gpu: unknown check 'gpu'; did you mean 'gpus'?");
    EXPECT_EQ(choose_checks({}, "gpus,zebra").error().message(),
              "distgpu: --skip=gpus,zebra: unknown check 'zebra'; see distgpu check --list");
    EXPECT_FALSE(choose_checks("", {}));
}

// The checks that apply to this task.
std::string applying(const Variables& variables, OwnTask own, const CpuSet& cpus) {
    const CheckFacts facts{std::make_shared<const OwnTask>(std::move(own)),
                           std::make_shared<const MapEnvironment>(variables), cpus, Clock::now()};
    std::vector<std::string_view> names;
    for (const NamedCheck* check : all_checks()) {
        if (check->applies(facts)) names.push_back(check->name);
    }
    return join(names, " ");
}

TEST(CheckList, AppliesWhereThereIsSomethingToLookAt) {
    EXPECT_EQ(applying({}, made_up_task("pytorch", 2000), {}), "variables limits gpus names");
    EXPECT_EQ(applying({{"GLOO_SOCKET_IFNAME", "eth0"}}, made_up_task("pytorch", 2000), {0}),
              "variables cpus limits gpus interfaces names");

    OwnTask own = made_up_task("pytorch", 2000);
    own.plan.ports = {2000, 2001};
    own.node.topology = std::make_unique<const NodeTopology>();
    EXPECT_EQ(applying({}, std::move(own), {0}), "variables ports cpus limits gpus fabric names");

    own = made_up_task("pytorch", 2000);
    own.node.topology = std::make_unique<const NodeTopology>();
    EXPECT_EQ(
        applying({{"NCCL_IB_DISABLE", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}}, std::move(own), {0}),
        "variables cpus limits gpus memory names");

    own = made_up_task("pytorch", 2000);
    own.place.layout = plan_testing::layout("n[1-2]", {{0, 2, 1, 1}});
    own.node.topology = std::make_unique<const NodeTopology>();
    EXPECT_EQ(
        applying({{"NCCL_IB_DISABLE", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}}, std::move(own), {0}),
        "variables cpus limits gpus memory nvlink fabric names nodes network");
}

}  // namespace
}  // namespace distgpu
