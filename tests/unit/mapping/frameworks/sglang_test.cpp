// What SGLang's servers get, and which steps are none for them.
#include "mapping/frameworks/program_options.h"
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;

// sglang/srt/server_args.py 0.5.23: the six ports behind --dist-init-addr, and one for each rank of
// attention's data parallelism, are its own.
TEST(Sglang, TellsEachNodeItsPlace) {
    SampleStep step("sglang", "n[1-3]", "1(x3)");
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    task.node_address = "10.0.0.2";
    EXPECT_THAT(options_of(*sglang.service, task),
                ElementsAre("--nnodes", "3", "--node-rank", "1", "--dist-init-addr", "node01:29500",
                            "--host", "10.0.0.2", "--port", "29513", "--nccl-port", "29514"));
    task.master_address = "fd00::1";
    EXPECT_EQ(options_of(*sglang.service, task)[5], "[fd00::1]:29500");
    step.facts.program = {"python3", "-m", "sglang.launch_server", "--nccl-init-addr=a:1"};
    EXPECT_THAT(options_of(*sglang.service, task),
                ElementsAre("--nnodes", "3", "--node-rank", "1", "--host", "10.0.0.2", "--port",
                            "29513", "--nccl-port", "29514"));
}

TEST(Sglang, RefusesWhatIsNoStepForIt) {
    SampleStep step("sglang", "n[1-2]", "1(x2)");
    step.facts.program = {"python3", "-m", "sglang.launch_server", "--tp", "3"};
    EXPECT_EQ(refusal_of(step),
              "distgpu: python3 -m sglang.launch_server --tp 3: it takes its place in the step "
              "from its options alone, so each node would run a server of its own; write srun "
              "--ntasks-per-node=1 --distgpu=sglang distgpu exec -- python3 -m "
              "sglang.launch_server --tp 3");
    step.facts.program.insert(step.facts.program.begin(), {"distgpu", "exec", "--"});
    EXPECT_EQ(refusal_of(step),
              "distgpu: --tp-size 3: 3 ranks in all, which 2 nodes cannot share out evenly; use "
              "-N1, or sizes whose product is a multiple of 2");
    step.facts.program.back() = "4";
    EXPECT_EQ(refusal_of(step), "");
}

}  // namespace
}  // namespace distgpu
