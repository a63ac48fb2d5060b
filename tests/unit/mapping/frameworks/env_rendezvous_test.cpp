// The modes that are PyTorch's contract under another name, and their launchers.
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <algorithm>

namespace distgpu {
namespace {

TEST(EnvRendezvous, IsTheSameForEveryFrameworkOnTorch) {
    for (const Framework* framework : {&accelerate, &deepspeed, &megatron}) {
        EXPECT_EQ(values(*framework, sample_task()), values(pytorch, sample_task()))
            << framework->mode;
        EXPECT_EQ(unset_patterns(*framework), unset_patterns(pytorch)) << framework->mode;
        EXPECT_EQ(framework->refuse, nullptr) << framework->mode;
    }
}

// megatron/core/parallel_state.py and the checkpoint store listen after MASTER_PORT.
TEST(Megatron, NeedsTwoMorePorts) {
    EXPECT_EQ(megatron.ports, 3);
}

TEST(LaunchersPerNode, GetNodeLevelFactsAlone) {
    for (const char* spec : {"accelerate,per-node", "deepspeed,per-node"}) {
        const SampleStep step(spec, "n[1-2]", "1(x2)");
        const Framework& framework = *step.request.framework;
        EXPECT_TRUE(framework.launcher_per_node) << spec;
        EXPECT_EQ(values(framework, sample_task()),
                  (Values{{"MASTER_ADDR", "node01"}, {"MASTER_PORT", "29500"}, {"NODE_RANK", "1"}}))
            << spec;
        const auto names = unset_patterns(framework);
        for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "PET_*"}) {
            EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << spec << ' ' << name;
        }
        EXPECT_EQ(refusal_of(step), "");
        EXPECT_NE(refusal_of({spec, "n[1-2]", "2,1"}), "");
    }
    const SampleStep pytorch_launcher("pytorch,per-node", "n1", "1");
    EXPECT_EQ(pytorch_launcher.request.framework, &torchrun);
}

}  // namespace
}  // namespace distgpu
