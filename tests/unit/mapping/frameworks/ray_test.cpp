// What the nodes of a Ray cluster get, and which steps are none for it.
#include "mapping/frameworks/program_options.h"
#include "mapping/frameworks/registry.h"
#include "mapping/plan/listening_ports.h"
#include "mapping/spec/parse_spec.h"
#include "task_values.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

Words options_on(std::uint32_t node, const char* spec = "ray", std::uint64_t memory = 0) {
    SampleStep step(spec, "n[1-2]", "1(x2)");
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    task.node_rank = NodeRank{node};
    task.node_address = "10.0.0.2";
    task.cpus = 6;
    task.gpus = 2;
    task.memory = memory;
    return options_of(*ray.service, task);
}

std::string value(const Words& options, const char* name) {
    const auto at = std::find(options.begin(), options.end(), name);
    return at == options.end() || at + 1 == options.end() ? "" : *(at + 1);
}

// ray/scripts/scripts.py 2.60. Every one of the fixed ports is another one of the step's 16.
TEST(Ray, TellsTheHeadAndTheOthersTheirPorts) {
    EXPECT_THAT(options_on(0),
                ElementsAre("--head", "--port", "29500", "--ray-client-server-port", "29501",
                            "--dashboard-host", "10.0.0.2", "--dashboard-port", "29508",
                            "--node-ip-address", "10.0.0.2", "--node-manager-port", "29502",
                            "--object-manager-port", "29503", "--runtime-env-agent-port", "29504",
                            "--dashboard-agent-grpc-port", "29505", "--dashboard-agent-listen-port",
                            "29506", "--metrics-export-port", "29507", "--min-worker-port", "0",
                            "--max-worker-port", "0", "--num-cpus", "6", "--num-gpus", "2",
                            "--disable-usage-stats", "--block"));
    const Words other = options_on(1);
    EXPECT_EQ(value(other, "--address"), "node01:29500");
    for (const char* const heads : {"--head", "--port", "--dashboard-port"}) {
        EXPECT_THAT(other, Not(Contains(heads)));
    }
}

TEST(Ray, TakesPortsForFirewallsAndNoDashboard) {
    const Words options = options_on(0, "ray,worker-ports=21000-21099,dashboard=off");
    EXPECT_EQ(value(options, "--min-worker-port"), "21000");
    EXPECT_EQ(value(options, "--max-worker-port"), "21099");
    EXPECT_EQ(value(options, "--include-dashboard"), "false");
    EXPECT_THAT(options_on(1, "ray,dashboard=off"), Not(Contains("--include-dashboard")));
    const auto problem = [](const char* spec) { return parse_spec("S", spec).error().message(); };
    EXPECT_EQ(problem("ray,worker-ports=80-90"),
              "distgpu: S=ray,worker-ports=80-90: worker-ports=80-90: not a range of ports; give "
              "FIRST-LAST, FIRST at least 1024, a port for each CPU and each driver");
    EXPECT_EQ(problem("ray,dashboard=no"),
              "distgpu: S=ray,dashboard=no: dashboard=no: unknown value; give on or off");
    EXPECT_FALSE(parse_spec("S", "ray,worker-ports=21000-70000"));
    EXPECT_FALSE(parse_spec("S", "vllm,dashboard=off"));
}

// 30 % of 10 GiB are 3 GiB.
TEST(Ray, SharesTheStepsMemoryOut) {
    const Words options = options_on(1, "ray", 10240);
    EXPECT_EQ(value(options, "--object-store-memory"), std::to_string(3ULL << 30U));
    EXPECT_EQ(value(options, "--memory"), std::to_string(7ULL << 30U));
    // Too little for a store of Ray's.
    EXPECT_THAT(options_on(1, "ray", 200), Not(Contains("--object-store-memory")));
}

TEST(Ray, ListensOnAllNodes) {
    const SampleStep step("ray", "n[1-2]", "1(x2)");
    EXPECT_THAT(ports_on(ray, step.layout, NodeIndex{1}, 25000), testing::SizeIs(16));
    EXPECT_THAT(ports_on(vllm, step.layout, NodeIndex{1}, 25000), testing::IsEmpty());
}

TEST(Ray, ADriverNeedsExec) {
    SampleStep step("ray", "n[1-2]", "1(x2)");
    step.facts.program = {"python3", "driver.py"};
    EXPECT_EQ(refusal_of(step),
              "distgpu: python3 driver.py: each node would run it, and none would start the "
              "cluster; write srun --ntasks-per-node=1 --distgpu=ray distgpu exec -- python3 "
              "driver.py");
    step.facts.program = {"distgpu", "exec", "--", "bash", "-c", "python3 driver.py --head"};
    EXPECT_EQ(refusal_of(step), "");
}

}  // namespace
}  // namespace distgpu
