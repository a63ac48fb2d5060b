// The node's plan of mapping.h: its values, its life, its refusals.
#include "mapping/layout/layout_text.h"
#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"
#include "plan_testing.h"

#include <vector>

namespace distgpu::c_api_testing {
namespace {

std::vector<std::string> texts(const char* const* list) {
    std::vector<std::string> all;
    for (; *list != nullptr; ++list) all.emplace_back(*list);
    return all;
}

TEST(CApiNodePlan, PytorchOnTheSecondOfTwoNodes) {
    const auto step = layout("node[01-02]", "4(x2)");
    distgpu_facts node = facts();
    node.gpus = 4;
    node.cpus = 32;
    const auto plan = planned("pytorch", step.get(), 1, &node);
    EXPECT_STREQ(plan->node_name, "node02");
    EXPECT_EQ(plan->node_count, 2U);
    EXPECT_EQ(plan->world_size, 8U);
    EXPECT_STREQ(plan->address, "node01");
    EXPECT_EQ(plan->port, 26912U);
    EXPECT_EQ(plan->warnings[0], nullptr);
    ASSERT_EQ(plan->task_count, 4U);
    for (std::uint32_t local = 0; local < 4; ++local) {
        const distgpu_task& task = *plan->tasks[local];
        EXPECT_EQ(task.rank, 4 + local);
        EXPECT_EQ(task.local_rank, local);
        EXPECT_EQ(task.node_rank, 1U);
        EXPECT_EQ(texts(task.unset),
                  (std::vector<std::string>{"TORCHELASTIC_*", "PET_*", "OMPI_COMM_WORLD_*"}));
        EXPECT_EQ(values(task), (Values{{"MASTER_ADDR", "node01"},
                                        {"MASTER_PORT", "26912"},
                                        {"WORLD_SIZE", "8"},
                                        {"RANK", std::to_string(4 + local)},
                                        {"LOCAL_RANK", std::to_string(local)},
                                        {"LOCAL_WORLD_SIZE", "4"},
                                        {"NODE_RANK", "1"},
                                        {"GROUP_RANK", "1"},
                                        {"GROUP_WORLD_SIZE", "2"},
                                        {"OMP_NUM_THREADS", "8"}}));
        EXPECT_EQ(task.cpus, nullptr);
        EXPECT_EQ(task.gpu_count, 0U);
    }
}

TEST(CApiNodePlan, WithoutFactsTheNodeHasOneCpu) {
    const auto step = layout("n1", "2");
    const auto plan = planned("pytorch,port=29500", step.get(), 0, nullptr);
    EXPECT_EQ(values(*plan->tasks[1])["OMP_NUM_THREADS"], "1");
    // A launcher starts a process for each CPU where there are no GPUs.
    const auto launcher = planned("torchrun", layout("n1", "1").get(), 0, nullptr);
    EXPECT_EQ(values(*launcher->tasks[0])["PET_NPROC_PER_NODE"], "1");
}

TEST(CApiNodePlan, WarningsAreLines) {
    distgpu_facts node = facts();
    node.gpus = 4;
    const auto step = layout("n1", "2");
    const auto plan = planned("pytorch", step.get(), 0, &node);
    EXPECT_EQ(
        texts(plan->warnings),
        (std::vector<std::string>{"distgpu: --distgpu=pytorch: 2 tasks on a node with 4 GPUs, "
                                  "of which 2 are idle; use --ntasks-per-node=4"}));
}

// The caller's texts and objects are gone, and others stand in their place.
TEST(CApiNodePlan, OutlivesWhatItWasMadeOf) {
    std::string nodelist = "n[1-2]";
    std::string address = "10.0.0.1";
    auto step = layout(nodelist.c_str(), "1(x2)");
    nodelist.assign(nodelist.size(), 'x');
    distgpu_facts node = facts();
    node.rank0_address = address.c_str();
    const auto plan = planned("pytorch", step.get(), 1, &node);
    address.assign(address.size(), 'x');
    step.reset();
    EXPECT_STREQ(plan->node_name, "n2");
    EXPECT_STREQ(plan->address, "10.0.0.1");
    EXPECT_EQ(values(*plan->tasks[0])["MASTER_ADDR"], "10.0.0.1");
}

TEST(CApiNodePlan, RefusesAStepInWhichTheFrameworkCannotRun) {
    const auto asked = request("torchrun");
    const auto step = layout("n1", "2");
    const auto expected = refusal(*parse_spec("SPEC", "torchrun"),
                                  Step{*parse_layout({.nodelist = "n1", .tasks_per_node = "2"})});
    ASSERT_TRUE(expected);
    EXPECT_EQ(refused<const distgpu_node_plan>([&](auto** plan, auto* error) {
                  return distgpu_node_plan_create(asked.get(), step.get(), nullptr, 0, plan, error);
              }),
              (Refused{DISTGPU_EREFUSED, expected->message()}));
}

TEST(CApiNodePlan, RefusesWhatIsNotThere) {
    const auto asked = request("pytorch");
    const auto step = layout("n[1-2]", "1(x2)");
    const auto why = [](const distgpu_request* request, const distgpu_layout* layout,
                        std::uint32_t node) {
        return refused<const distgpu_node_plan>([&](auto** plan, auto* error) {
            return distgpu_node_plan_create(request, layout, nullptr, node, plan, error);
        });
    };
    EXPECT_EQ(
        why(asked.get(), step.get(), 2),
        (Refused{DISTGPU_ERANGE, "distgpu: node 2: the layout has 2 nodes; number them from 0"}));
    EXPECT_EQ(why(nullptr, step.get(), 0),
              (Refused{DISTGPU_EINVAL, "distgpu: request: is NULL; see distgpu/mapping.h"}));
    EXPECT_EQ(why(asked.get(), nullptr, 0),
              (Refused{DISTGPU_EINVAL, "distgpu: layout: is NULL; see distgpu/mapping.h"}));
    EXPECT_EQ(distgpu_node_plan_create(asked.get(), step.get(), nullptr, 0, nullptr, nullptr),
              DISTGPU_EINVAL);
    distgpu_node_plan_destroy(nullptr);
}

}  // namespace
}  // namespace distgpu::c_api_testing
