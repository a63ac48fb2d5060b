// The facts of mapping.h: each one arrives in the plan, and what would break the plan is refused.
#include "mapping/binding/two_socket_node.h"
#include "mapping/topology/topology_json.h"
#include "plan_testing.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace distgpu::c_api_testing {
namespace {

// Two tasks on each of two nodes with two GPUs, of which the first is near NUMA node 2 and the
// second near NUMA node 0.
class CApiFacts : public testing::Test {
  protected:
    CApiFacts() {
        node_.topology = topology_.get();
        node_.gpus = 2;
        node_.gpu_indices = gpus_.data();
        node_.gpu_variables = cuda_.data();
        node_.cpu_masks = masks_.data();
        node_.cpus = 32;
        node_.confined = 1;
    }

    Values variables(std::uint32_t task) const { return values(*plan()->tasks[task]); }

    std::vector<std::string> cpus() const {
        const auto made = plan();
        return {made->tasks[0]->cpus, made->tasks[1]->cpus};
    }

    Owned<const distgpu_node_plan> plan() const {
        return planned("pytorch", step_.get(), 0, &node_);
    }

    std::string refusal() const {
        const auto asked = request("pytorch");
        const Refused answer = refused<const distgpu_node_plan>([&](auto** plan, auto* error) {
            return distgpu_node_plan_create(asked.get(), step_.get(), &node_, 0, plan, error);
        });
        EXPECT_EQ(answer.status, DISTGPU_EINVAL);
        return answer.message;
    }

    const std::string json_ = to_json(two_socket_node({2, 0}), std::nullopt);
    const Owned<distgpu_topology> topology_ =
        made<distgpu_topology>([&](auto** object, auto* error) {
            return distgpu_topology_create(json_.c_str(), object, error);
        });
    const Owned<distgpu_layout> step_ = layout("n[1-2]", "2(x2)");
    std::array<std::uint32_t, 2> gpus_{0, 1};
    std::array<const char*, 2> cuda_{"CUDA_VISIBLE_DEVICES", nullptr};
    std::array<const char*, 3> masks_{"0-31", "0-31", nullptr};
    distgpu_facts node_ = facts();
};

TEST_F(CApiFacts, TasksRunNearTheirGpus) {
    EXPECT_EQ(cpus(), (std::vector<std::string>{"8-11,24-27", "0-3,16-19"}));
    const auto made = plan();
    for (std::uint32_t task = 0; task < 2; ++task) {
        ASSERT_EQ(made->tasks[task]->gpu_count, 1U);
        EXPECT_EQ(made->tasks[task]->gpus[0], task);
    }
    EXPECT_EQ(variables(0)["CUDA_VISIBLE_DEVICES"], "0,1");
}

TEST_F(CApiFacts, MasksThatDifferStayAndChooseTheGpus) {
    masks_ = {"0-3", "8-11", nullptr};
    EXPECT_EQ(cpus(), (std::vector<std::string>{"0-3", "8-11"}));
    EXPECT_EQ(variables(0)["CUDA_VISIBLE_DEVICES"], "1,0");
    const std::array<const char*, 3> names{"5", "7", nullptr};
    node_.gpu_names = names.data();
    EXPECT_EQ(variables(0)["CUDA_VISIBLE_DEVICES"], "7,5");
}

TEST_F(CApiFacts, MasksAreDividedOnlyWhereTheyMayBe) {
    const std::vector<std::string> whole{"0-31", "0-31"};
    node_.user_bound = 1;
    EXPECT_EQ(cpus(), whole);
    node_.user_bound = 0;
    node_.confined = 0;
    EXPECT_EQ(cpus(), whole);
}

// A GPU's NUMA node has 8 CPUs: the rest comes from its socket.
TEST_F(CApiFacts, NoTaskHasFewerCpusThanItAskedFor) {
    node_.cpus_per_task = 16;
    EXPECT_EQ(cpus(), (std::vector<std::string>{"8-15,24-31", "0-7,16-23"}));
    EXPECT_EQ(variables(0)["OMP_NUM_THREADS"], "16");
}

TEST_F(CApiFacts, WithoutATopologyOrMasksNothingIsBound) {
    node_.cpu_masks = nullptr;
    EXPECT_EQ(plan()->tasks[0]->cpus, nullptr);
    EXPECT_EQ(plan()->tasks[0]->gpu_count, 0U);
    EXPECT_FALSE(variables(0).contains("CUDA_VISIBLE_DEVICES"));
}

TEST_F(CApiFacts, TheUsersVariablesStay) {
    const std::array<const char*, 3> exported{"HOME", "OMP_NUM_THREADS", nullptr};
    EXPECT_TRUE(variables(0).contains("OMP_NUM_THREADS"));
    node_.exported = exported.data();
    EXPECT_FALSE(variables(0).contains("OMP_NUM_THREADS"));
    node_.master_addr = "chosen";
    node_.master_port = "29501";
    EXPECT_EQ(variables(0)["MASTER_ADDR"], "chosen");
    EXPECT_EQ(variables(0)["MASTER_PORT"], "29501");
}

TEST_F(CApiFacts, AddressesAndPortAreTheSteps) {
    node_.rank0_address = "10.0.0.1";
    node_.node_interface = "ib0";
    EXPECT_EQ(variables(0)["MASTER_ADDR"], "10.0.0.1");
    EXPECT_EQ(variables(0)["NCCL_SOCKET_IFNAME"], "=ib0");
    // A step is one slot of 16 ports further, a restart 97, past MongoDB's; see ports_test.cpp.
    EXPECT_EQ(plan()->port, 26912U);
    node_.step_id = 1;
    EXPECT_EQ(plan()->port, 26928U);
    node_.step_id = 0;
    node_.restart_count = 1;
    EXPECT_EQ(plan()->port, 26912U + 16 * (97 + 1));
    node_.reserved_ports = "30000-30003";
    EXPECT_EQ(plan()->port, 30000U);
}

TEST_F(CApiFacts, ALauncherIsToldItsOwnAddressAndTheStep) {
    node_ = facts();
    node_.step_id = 7;
    node_.node_address = "10.0.0.2";
    const auto step = layout("n[1-2]", "1");
    const auto launcher = planned("torchrun", step.get(), 1, &node_);
    EXPECT_EQ(values(*launcher->tasks[0])["PET_LOCAL_ADDR"], "10.0.0.2");
    EXPECT_EQ(values(*launcher->tasks[0])["PET_RDZV_ID"], "4242.7");
}

TEST_F(CApiFacts, RefusesMasksThatAreNone) {
    masks_ = {"0-31", nullptr, nullptr};
    EXPECT_EQ(refusal(),
              "distgpu: facts.cpu_masks: 1 masks on a node with 2 tasks; give one for each task");
    for (const std::string mask : {"", "0-", "all"}) {
        masks_ = {"0-31", mask.c_str(), nullptr};
        EXPECT_EQ(refusal(), "distgpu: facts.cpu_masks[1] '" + mask +
                                 "': not a list of CPUs; write it like 0-3,8");
    }
}

TEST_F(CApiFacts, RefusesGpusThatAreNotThere) {
    gpus_ = {0, 2};
    EXPECT_EQ(refusal(),
              "distgpu: facts.gpu_indices[1] 2: the topology has 2 GPUs; number them from 0 in its "
              "order");
    gpus_ = {1, 1};
    EXPECT_EQ(refusal(),
              "distgpu: facts.gpu_indices[1] 1: given twice; give each GPU of the step once");
    gpus_ = {0, 1};
    const std::array<const char*, 2> names{"5", nullptr};
    node_.gpu_names = names.data();
    EXPECT_EQ(refusal(),
              "distgpu: facts.gpu_names: 1 names for 2 GPUs; give one for each of gpu_indices");
}

TEST_F(CApiFacts, RefusesNumbersThatNoNodeHas) {
    const std::array<std::pair<std::string, std::uint32_t distgpu_facts::*>, 3> fields{
        {{"gpus", &distgpu_facts::gpus},
         {"cpus", &distgpu_facts::cpus},
         {"cpus_per_task", &distgpu_facts::cpus_per_task}}};
    for (const auto& [name, field] : fields) {
        node_ = facts();
        node_.*field = 8192;
        plan();
        node_.*field = 8193;
        EXPECT_EQ(refusal(),
                  "distgpu: facts." + name + " 8193: more than 8192; give the number of one node");
    }
}

TEST_F(CApiFacts, RefusesASizeThatIsNone) {
    node_.size = 0;
    EXPECT_EQ(refusal(),
              "distgpu: distgpu_facts.size 0: not the size of the struct; set it to sizeof(struct "
              "distgpu_facts)");
}

// A field that is added to the struct's end must not lie where older callers have padding.
TEST_F(CApiFacts, TheStructsEndWithoutPadding) {
    EXPECT_EQ(sizeof(distgpu_facts),
              offsetof(distgpu_facts, user_bound) + sizeof(distgpu_facts::user_bound));
    EXPECT_EQ(sizeof(distgpu_layout_text), offsetof(distgpu_layout_text, distribution) +
                                               sizeof(distgpu_layout_text::distribution));
}

}  // namespace
}  // namespace distgpu::c_api_testing
