// A task that nobody prepared: what its variables tell, in this process, of this machine.
#include "node/own_task.h"

#include "made_up_folder.h"
#include "map_environment.h"
#include "mapping/plan/plan_testing.h"
#include "node/machine.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using plan_testing::layout;
using plan_testing::request;
using plan_testing::values;
using Variables = MapEnvironment::Variables;

// Task 2 of 4, the first on n2.
ProcessPlace place_of(Launcher launcher, bool knows_hosts = true) {
    return {launcher,   layout("n[1-2]", {{0, 2, 2, 1}}), NodeIndex{1}, LocalRank{0}, {7, 0, 0},
            knows_hosts};
}

std::string refusal_of(const char* spec, const ProcessPlace& place,
                       const Variables& variables = {}) {
    const auto error = find_refusal(request(spec), place, MapEnvironment(variables));
    return error ? error->message() : "";
}

TEST(FindRefusal, IfTheOtherNodesAreUnknown) {
    const ProcessPlace place = place_of(Launcher::mpirun, false);
    EXPECT_EQ(refusal_of("pytorch", place),
              "distgpu: MASTER_ADDR: mpirun does not say which node runs rank 0; give the key "
              "master=HOST, or export MASTER_ADDR");
    EXPECT_EQ(refusal_of("pytorch", place, {{"MASTER_ADDR", "n1"}}), "");
    EXPECT_EQ(refusal_of("pytorch,master=n1", place), "");
    EXPECT_EQ(refusal_of("pytorch", place_of(Launcher::slurm)), "");
    EXPECT_EQ(refusal_of("tensorflow", place, {{"MASTER_ADDR", "n1"}}),
              "distgpu: --distgpu=tensorflow: TF_CONFIG names every node, but mpirun does not name "
              "them; start it with srun");
    EXPECT_EQ(refusal_of("tensorflow", place_of(Launcher::slurm)), "");
}

TEST(FindRefusal, OfAStepThatDoesNotFitTheMode) {
    // A mode that starts one launcher per node, in a step of two tasks per node.
    EXPECT_NE(refusal_of("torchrun", place_of(Launcher::slurm)), "");
}

std::string ordered(const char* spec, ProcessPlace place) {
    const auto text = order_nodes(request(spec), place, MapEnvironment());
    return text ? *text + "|" + place.layout.hosts().name(rank0_node(place.layout))
                : text.error().message();
}

TEST(OrderNodes, ReadsTheListWhereTheNodesAreKnown) {
    const MadeUpFolder folder;
    folder.write("nodes", "n2\nn1\n");
    const std::string order = "order=" + folder.path("nodes");
    const std::string spec = "pytorch," + order;
    EXPECT_EQ(ordered("pytorch", place_of(Launcher::mpirun, false)), "|n1");
    EXPECT_EQ(ordered(spec.c_str(), place_of(Launcher::mpirun, false)),
              "distgpu: " + order + ": mpirun does not name the nodes; start it with srun");
    const std::string second_first = ordered(spec.c_str(), place_of(Launcher::slurm));
    EXPECT_TRUE(second_first.ends_with("|n2")) << second_first;
}

TEST(OrderNodes, NotEveryTaskOfALargeStepAsksSlurmctld) {
    ProcessPlace place = place_of(Launcher::slurm);
    place.layout = layout("n[1-2]", {{0, 2, 5000, 1}});
    EXPECT_EQ(ordered("pytorch,order=switch", place),
              "distgpu: order=switch: at most " + std::to_string(max_querying_tasks) +
                  " tasks may ask slurmctld, but the step has 10000; name the nodes in a file "
                  "(order=./FILE), or use srun --distgpu");
}

// The keys keep what would have to be discovered first.
OwnTask planned(const ProcessPlace& place, const Variables& variables) {
    auto own = plan_own_task(request("pytorch,bind=none"), place, MapEnvironment(variables));
    EXPECT_TRUE(own) << own.error().message();
    return own ? *std::move(own) : OwnTask{request("pytorch"), place, {}, {}, {}};
}

// Of this machine's own name, which all of them resolve.
ProcessPlace here(Launcher launcher, std::uint16_t tasks) {
    ProcessPlace place = place_of(launcher);
    place.layout = layout("localhost", {{0, 1, tasks, 1}});
    place.node = NodeIndex{0};
    return place;
}

TEST(PlanOwnTask, SlurmsPortsAreOfItsOwnTasks) {
    const Variables ports{{"SLURM_STEP_RESV_PORTS", "12000-12001"}, {"SLURM_MPI_TYPE", "none"}};
    const OwnTask slurm = planned(here(Launcher::slurm, 2), ports);
    EXPECT_EQ(slurm.plan.rendezvous.port, 12000);
    EXPECT_EQ(values(slurm.task()).at("RANK"), "0");
    EXPECT_EQ(values(slurm.task()).at("WORLD_SIZE"), "2");
    const OwnTask mpi = planned(here(Launcher::mpirun, 2), ports);
    EXPECT_NE(mpi.plan.rendezvous.port, 12000);
    EXPECT_TRUE(mpi.facts.share.masks.empty());
}

TEST(PlanOwnTask, TheMasksOfAllTasksWhereSlurmsVariablesTellThem) {
    const CpuSet own = own_cpus();
    std::string mask;  // of `own`, the highest digit first
    for (std::uint32_t first = (own.cpus().back() / 4 + 1) * 4; first != 0; first -= 4) {
        unsigned digit = 0;
        for (std::uint32_t bit = 0; bit < 4; ++bit) {
            if (own.contains(first - 4 + bit)) digit |= 1U << bit;
        }
        mask += "0123456789ABCDEF"[digit];
    }
    const auto masks = [&](std::uint16_t tasks, const char* type, const std::string& list) {
        const OwnTask task = planned(here(Launcher::slurm, tasks), {{"SLURM_CPU_BIND_TYPE", type},
                                                                    {"SLURM_CPU_BIND_LIST", list},
                                                                    {"SLURM_CPUS_ON_NODE", "999"}});
        EXPECT_EQ(task.facts.has_cpu_bind, std::string(type).starts_with("none"));
        EXPECT_EQ(task.facts.is_confined, true);
        return task.facts.share.masks;
    };
    using Masks = std::vector<CpuSet>;
    EXPECT_EQ(masks(1, "mask_cpu:", "0x1"), Masks{own});
    EXPECT_EQ(masks(2, "", ""), (Masks{own, own}));
    EXPECT_EQ(masks(2, "none", ""), (Masks{own, own}));
    EXPECT_EQ(masks(2, "cores", ""), Masks{});
    const std::string other = own == CpuSet{9} ? "0x100" : "0x200";
    EXPECT_EQ(masks(2, "mask_cpu:", "0x" + mask + "," + other).size(), 2U);
    // Wrong about this task, so what does it know of the others?
    EXPECT_EQ(masks(2, "mask_cpu:", other + ",0x" + mask), Masks{});
}

// A service is reached at an address that other nodes can use, of which the loopback's is none.
TEST(PlanOwnTask, TheAddressOfAServiceIsThePluginsOrOnesOwn) {
    const auto address = [](const Variables& variables) {
        auto own = plan_own_task(request("ray,bind=none"), here(Launcher::slurm, 1),
                                 MapEnvironment(variables));
        return own ? own->facts.address : own.error().message();
    };
    EXPECT_EQ(address({{"NODE_ADDR", "10.0.0.7"}}), "");
    EXPECT_EQ(address({{"NODE_ADDR", "10.0.0.7"},
                       {"SLURM_JOB_ID", "7"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_DISTGPU_PREPARED", "7.0 ray"}}),
              "10.0.0.7");
}

TEST(OwnProgramPath, IsThisProgram) {
    EXPECT_TRUE(own_program_path().ends_with("/unit_tests"));
}

TEST(ParseMasks, ReadsOneForEachTask) {
    EXPECT_EQ(parse_masks("0x3,0xC0", 2), (std::vector<CpuSet>{{0, 1}, {6, 7}}));
    EXPECT_EQ(parse_masks("0x100000000000000000", 1), (std::vector<CpuSet>{{68}}));
    for (const char* list : {"0x3", "0x3,0x4,0x8", "0x3,", "0x3,0x0", "0x3,0xG", ""}) {
        EXPECT_TRUE(parse_masks(list, 2).empty()) << list;
    }
    EXPECT_TRUE(parse_masks("", 1).empty());
}

}  // namespace
}  // namespace distgpu
