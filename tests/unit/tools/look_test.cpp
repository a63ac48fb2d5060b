// Which checks a rank runs, and what it reports of them.
#include "check/look.h"

#include "map_environment.h"
#include "tools/findings_text.h"
#include "tools/made_up_task.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using Variables = MapEnvironment::Variables;

CheckFacts facts(const Variables& variables = {}) {
    return {std::make_shared<const OwnTask>(made_up_task("pytorch", 2000)),
            std::make_shared<const MapEnvironment>(variables), CpuSet{0, 1, 2, 3},
            Clock::now() + 10s};
}

CheckResult found(const char* object) {
    return {{{Finding::Weight::warning, {object, "found", ""}}}};
}

bool never(const CheckFacts& /*facts*/) {
    return false;
}

const NamedCheck first{"first", "", always, [](const CheckFacts& /*facts*/) { return found("a"); }};
const NamedCheck second{"second", "", always,
                        [](const CheckFacts& /*facts*/) { return found("b"); }};
const NamedCheck unfit{"unfit", "", never, [](const CheckFacts& /*facts*/) { return found("c"); }};
const NamedCheck endless{"endless", "", always, [](const CheckFacts& /*facts*/) {
                             std::this_thread::sleep_for(5s);
                             return found("d");
                         }};

TEST(Look, RunsThoseThatApplyInTheirOrder) {
    EXPECT_EQ(text(look(facts(), {&second, &unfit, &first}).report.findings),
              "warning b: found\nwarning a: found\n");
    EXPECT_EQ(text(look(facts(), {}).report.findings), "");
}

TEST(Look, WhatDoesNotEndIsAFindingAndHidesNoOther) {
    CheckFacts in_haste = facts();
    in_haste.deadline = Clock::now() + 10ms;
    EXPECT_EQ(text(look(in_haste, {&endless, &first}).report.findings),
              "failed check endless: did not finish\nwarning a: found\n");
}

TEST(Look, ReportsWhereTheTaskIsAndWhatItHas) {
    const Report report =
        look(facts({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NCCL_SOCKET_IFNAME", "=eth0"}}), {}).report;
    EXPECT_EQ(report, (Report{0, 0, "0-3", 2, "eth0", "not checked", "n1:2000", {}, {}}));
}

TEST(Look, PortsAreThoseThatTheCheckSawOrNone) {
    static const NamedCheck seeing{"seeing", "", always, [](const CheckFacts& /*facts*/) {
                                       return CheckResult{{}, "mlx5_0:1 400 Gb/s"};
                                   }};
    EXPECT_EQ(look(facts(), {&seeing}).report.ports, "mlx5_0:1 400 Gb/s");
    EXPECT_EQ(look(facts(), {&fabric_check}).report.ports,
              "");  // of a node whose topology is not known
}

}  // namespace
}  // namespace distgpu
