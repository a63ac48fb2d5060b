// The sampler is a shell script.
#include "node/step_sampler.h"

#include "base/io/files.h"
#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <thread>

namespace distgpu {
namespace {

TEST(StepSampler, GetsItsStepAndTheControl) {
    const MadeUpFolder folder;
    const StepSampler sampler{.command = "/opt/bin/distgpu",
                              .file = "/home/eva/a \"b\".json",
                              .cluster = "c",
                              .job = "5_1",
                              .step = "6.0",
                              .component = "7.0",
                              .spec = "pytorch,report",
                              .node = "node03",
                              .index = 2,
                              .nodes = 4,
                              .tasks = 16};
    const std::string program = folder.write_program("distgpu-sampler", R"sh(#!/bin/sh
cd ${0%/*}
read -r line <&3
printf '%s\n%s' "$line" "$1" >next
mv next told)sh");
    Pipe control = make_pipe();
    const auto helper = HostHelper::start({});
    ASSERT_TRUE(helper);
    const EnvironmentCopy environment(EnvironmentCopy::Variables{{"PATH", "/bin:/usr/bin"}});
    ASSERT_TRUE(start_step_sampler(*helper, program, sampler, environment, control.read.fd()));
    write_all(control.write.fd(), ended_task_line(9, 256, 3));
    std::string told;
    for (int i = 0; i < 1000 && told.empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        told = read_trimmed(folder.path("told")).value_or("");
    }
    const std::size_t end = told.find('\n');
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(told.substr(0, end), "9 256 3");
    EXPECT_EQ(read_step_sampler(told.substr(end + 1)), sampler);
    EXPECT_EQ(read_step_sampler("{}"), std::nullopt);
    EXPECT_EQ(read_step_sampler("5.0"), std::nullopt);
}

TEST(StepSampler, AMissingProgramIsAnError) {
    const auto helper = HostHelper::start({});
    ASSERT_TRUE(helper);
    const auto started =
        start_step_sampler(*helper, "/nowhere/distgpu-sampler", {.node = "node01"},
                           EnvironmentCopy(EnvironmentCopy::Variables{{"A", "1"}}), 0);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().message(),
              "distgpu: report: /nowhere/distgpu-sampler on node01: cannot be started; the step "
              "runs without a report; install all files of the package distgpu");
}

}  // namespace
}  // namespace distgpu
