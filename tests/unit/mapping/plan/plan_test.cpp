// The plan of a step. Expected values are the golden table of the frameworks'
// contracts: 2 nodes with 4 GPUs each, rank r on node r/4 with local rank r%4.
#include "plan_testing.h"

#include <optional>
#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

TEST(Plan, PytorchOnTwoNodesWithFourTasksEach) {
    const StepLayout step = layout("node[01-02]", {{0, 2, 4, 1}});
    for (std::uint32_t n = 0; n < 2; ++n) {
        const NodePlan node = planned("pytorch", step, n, {.gpus = 4, .cpus = 32});
        EXPECT_EQ(node.node, NodeIndex{n});
        EXPECT_EQ(node.node_name, n == 0 ? "node01" : "node02");
        EXPECT_EQ(node.rendezvous, (Rendezvous{"node01", 26912, PortSource::derived}));
        EXPECT_EQ(node.warnings, std::vector<Error>{});
        ASSERT_EQ(node.tasks.size(), 4U);
        for (std::uint32_t l = 0; l < 4; ++l) {
            const std::uint32_t r = 4 * n + l;
            EXPECT_EQ(node.tasks[l].task, TaskId{r});
            EXPECT_EQ(node.tasks[l].rank, GlobalRank{r});
            EXPECT_EQ(node.tasks[l].local_rank, LocalRank{l});
            EXPECT_EQ(node.tasks[l].unset,
                      (std::vector<std::string>{"TORCHELASTIC_*", "PET_*", "OMPI_COMM_WORLD_*"}));
            EXPECT_EQ(values(node.tasks[l]), (Values{{"MASTER_ADDR", "node01"},
                                                     {"MASTER_PORT", "26912"},
                                                     {"WORLD_SIZE", "8"},
                                                     {"RANK", std::to_string(r)},
                                                     {"LOCAL_RANK", std::to_string(l)},
                                                     {"LOCAL_WORLD_SIZE", "4"},
                                                     {"NODE_RANK", std::to_string(n)},
                                                     {"GROUP_RANK", std::to_string(n)},
                                                     {"GROUP_WORLD_SIZE", "2"},
                                                     {"OMP_NUM_THREADS", "8"}}));
        }
    }
}

TEST(Plan, TorchrunOnTwoNodes) {
    const StepLayout step = layout("node[01-02]", {{0, 2, 1, 1}});
    for (std::uint32_t n = 0; n < 2; ++n) {
        const NodePlan node = planned("torchrun", step, n, {.gpus = 4, .cpus = 32});
        ASSERT_EQ(node.tasks.size(), 1U);
        EXPECT_EQ(node.tasks[0].task, TaskId{n});
        EXPECT_EQ(values(node.tasks[0]), (Values{{"PET_NNODES", "2"},
                                                 {"PET_NPROC_PER_NODE", "4"},
                                                 {"PET_NODE_RANK", std::to_string(n)},
                                                 {"PET_MASTER_ADDR", "node01"},
                                                 {"PET_MASTER_PORT", "26912"},
                                                 {"PET_RDZV_BACKEND", "static"},
                                                 {"PET_RDZV_ID", "4242.0"},
                                                 {"PET_LOCAL_ADDR", n == 0 ? "node01" : "node02"},
                                                 {"MASTER_ADDR", "node01"},
                                                 {"MASTER_PORT", "26912"},
                                                 {"NODE_RANK", std::to_string(n)},
                                                 {"OMP_NUM_THREADS", "8"}}));
    }
}

// srun -m arbitrary with the host file n3,n1,n3,n2,n1: Slurm lists n[1-3].
TEST(Plan, RankZeroNeedNotRunOnTheFirstNode) {
    const StepLayout step =
        layout("n[1-3]", {{2, 1, 1, 1}, {0, 1, 1, 1}, {2, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 1, 1}});
    EXPECT_EQ(rank0_node(step), NodeIndex{2});
    const std::vector<std::vector<std::uint32_t>> ranks{{1, 4}, {3}, {0, 2}};
    const std::vector<const char*> node_ranks{"1", "2", "0"};  // by the lowest rank
    for (std::uint32_t n = 0; n < 3; ++n) {
        const NodePlan node = planned("pytorch", step, n);
        EXPECT_EQ(node.rendezvous.address, "n3") << n;
        ASSERT_EQ(node.tasks.size(), ranks[n].size()) << n;
        for (std::uint32_t l = 0; l < ranks[n].size(); ++l) {
            Values set = values(node.tasks[l]);
            EXPECT_EQ(set["RANK"], std::to_string(ranks[n][l]));
            EXPECT_EQ(set["LOCAL_RANK"], std::to_string(l));
            EXPECT_EQ(set["LOCAL_WORLD_SIZE"], std::to_string(ranks[n].size()));
            EXPECT_EQ(set["NODE_RANK"], node_ranks[n]);
            EXPECT_EQ(set["GROUP_RANK"], node_ranks[n]);
            EXPECT_EQ(set["MASTER_ADDR"], "n3");
        }
    }
}

// An outer step's rank would be another task's.
TEST(Plan, ExportedRanksDoNotStay) {
    const StepLayout step = layout("n1", {{0, 1, 1, 1}});
    const NodeFacts node{.cpus = 4, .exported = {"RANK", "OMP_NUM_THREADS"}};
    EXPECT_EQ(of_all(planned("pytorch", step, 0, node), "RANK"), std::vector<std::string>{"0"});
    EXPECT_EQ(of_all(planned("pytorch", step, 0, node), "OMP_NUM_THREADS"),
              std::vector<std::string>{"-"});
    const auto yielded = planned("pytorch", step, 0, node).tasks.at(0).yielded;
    EXPECT_EQ(yielded, (decltype(yielded){{"OMP_NUM_THREADS", "4"}}));
}

TEST(Plan, TheRendezvousIsTheSameOnEveryNode) {
    const StepLayout step = layout("n[1-3]", {{0, 1, 20, 1}, {1, 2, 1, 1}});
    const Rendezvous first = planned("pytorch", step, 0, {.gpus = 8}).rendezvous;
    for (std::uint32_t n = 1; n < 3; ++n) {
        EXPECT_EQ(planned("pytorch", step, n, {.cpus = 7}).rendezvous, first);
    }
    // Room for a port a task, counted on the fullest node.
    EXPECT_EQ(first.port, derived_port({4242, 0, 0}, default_ports, 20));
}

TEST(Plan, TheSuffixIsAddedToTheNodesOwnNameToo) {
    const StepLayout step = layout("node[01-02]", {{0, 2, 1, 1}});
    Values set = values(planned("torchrun,master=suffix:-ib0", step, 1).tasks.at(0));
    EXPECT_EQ(set["PET_MASTER_ADDR"], "node01-ib0");
    EXPECT_EQ(set["MASTER_ADDR"], "node01-ib0");
    EXPECT_EQ(set["PET_LOCAL_ADDR"], "node02-ib0");
    Step by_default = step_of(step);
    by_default.rendezvous.default_master = {Master::Form::suffix, "i"};
    const auto node = plan(request("torchrun"), by_default, {.node = NodeIndex{1}});
    ASSERT_TRUE(node);
    Values administrators = values(node->tasks.at(0));
    EXPECT_EQ(administrators["PET_MASTER_ADDR"], "node01i");
    EXPECT_EQ(administrators["PET_LOCAL_ADDR"], "node02i");
    Values plain = values(planned("torchrun,master=node01-eth1", step, 1).tasks.at(0));
    EXPECT_EQ(plain["PET_MASTER_ADDR"], "node01-eth1");
    EXPECT_EQ(plain["PET_LOCAL_ADDR"], "node02");
}

TEST(Plan, ALauncherStartsAProcessAGpuElseACpuElseAsAsked) {
    struct Row {
        const char* title;
        const char* spec;
        NodeFacts node;
        std::string processes;
    };
    const std::vector<Row> rows = {
        {"GPUs", "torchrun", {.gpus = 4, .cpus = 32}, "4"},
        {"no GPU: CPUs", "torchrun", {.gpus = 0, .cpus = 32}, "32"},
        {"asked for fewer", "torchrun,nproc=2", {.gpus = 4, .cpus = 32}, "2"},
        {"asked for more", "torchrun,nproc=64", {.gpus = 4, .cpus = 32}, "64"},
    };
    const StepLayout step = layout("n1", {{0, 1, 1, 1}});
    for (const auto& row : rows) {
        Values set = values(planned(row.spec, step, 0, row.node).tasks.at(0));
        EXPECT_EQ(set["PET_NPROC_PER_NODE"], row.processes) << row.title;
    }
}

TEST(Plan, KnowsThePortsOnWhichANodeWillListen) {
    using Ports = std::vector<std::uint16_t>;
    const StepLayout step = layout("n[1-2]", {{1, 1, 1, 1}, {0, 1, 2, 1}});  // task 0 on n2
    EXPECT_EQ(planned("pytorch,port=2000", step, 0).ports, Ports{});
    EXPECT_EQ(planned("pytorch,port=2000", step, 1).ports, Ports{2000});
    EXPECT_EQ(planned("megatron,port=2000", step, 1).ports, (Ports{2000, 2001, 2002}));
    EXPECT_EQ(planned("tensorflow,port=2000", step, 0).ports, (Ports{2000, 2001}));
    EXPECT_EQ(planned("tensorflow,port=2000", step, 1).ports, Ports{2000});
    // MPI needs no rendezvous of ours.
    EXPECT_EQ(planned("horovod,port=2000", step, 1).ports, Ports{});
}

TEST(Plan, RefusesAPortWithTooFewAfterIt) {
    const StepLayout step = layout("n1", {{0, 1, 4, 1}});
    EXPECT_EQ(planned("tensorflow,port=65532", step, 0).ports.back(), 65535);
    const auto refused = plan(request("tensorflow,port=65533"), step_of(step), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(
        refused.error().message(),
        "distgpu: port 65533 (from port=65533): 4 consecutive ports are needed from here; give "
        "one up to "
        "65532 with --distgpu=...,port=N");
    EXPECT_EQ(planned("pytorch,port=65535", step, 0).ports.back(), 65535);
}

TEST(Plan, NamesEveryNodeInTheFormOfTheMaster) {
    struct Row {
        const char* spec;
        const char* worker0;
        const char* worker1;
    };
    const std::vector<Row> rows = {
        {"tensorflow,port=2000", "10.0.0.1:2000", "10.0.0.2:2000"},
        {"tensorflow,port=2000,master=name", "n1:2000", "n2:2000"},
        {"tensorflow,port=2000,master=suffix:-ib", "n1-ib:2000", "n2-ib:2000"},
        {"tensorflow,port=2000,master=10.9.9.9", "10.9.9.9:2000", "10.0.0.2:2000"},
    };
    Step step = step_of(layout("n[1-2]", {{0, 2, 1, 1}}));
    step.facts.node_addresses = hosts("10.0.0.[1-2]");
    step.rendezvous.rank0_address = "10.0.0.1";
    for (const auto& row : rows) {
        const auto node = plan(request(row.spec), step, {.node = NodeIndex{1}});
        ASSERT_TRUE(node) << row.spec;
        EXPECT_EQ(values(node->tasks.at(0))["TF_CONFIG"],
                  std::string(R"({"cluster":{"worker":[")") + row.worker0 + R"(",")" + row.worker1 +
                      R"("]},"task":{"type":"worker","index":1}})");
    }
}

// For srun: the same judgement as plan()'s, without a rendezvous.
TEST(Plan, JudgesAStepBeforeItsLaunch) {
    const Step step = step_of(layout("n[1-2]", {{0, 2, 1, 1}}));
    EXPECT_EQ(refusal(request("pytorch"), step), std::nullopt);
    EXPECT_EQ(refusal(request("tensorflow,ps=1"), step), std::nullopt);
    EXPECT_NE(refusal(request("tensorflow,ps=2"), step), std::nullopt);
    Step without_mpi = step;
    without_mpi.facts.mpi_type = "none";
    EXPECT_NE(refusal(request("horovod"), without_mpi), std::nullopt);
    EXPECT_EQ(step_warnings(request("ompi"), without_mpi).size(), 1U);
    EXPECT_EQ(step_warnings(request("pytorch"), without_mpi).size(), 0U);
}

TEST(Plan, HandsRefusalsOn) {
    Step step = step_of(layout("n[1-2]", {{0, 2, 2, 1}}));
    const auto several = plan(request("torchrun"), step, {});
    ASSERT_FALSE(several);
    EXPECT_EQ(several.error().message(),
              "distgpu: --distgpu=torchrun: 2 tasks on a node, but this mode's launcher starts the "
              "processes itself and needs one task per node; use --ntasks-per-node=1 "
              "--distgpu=torchrun, or --distgpu=pytorch and the script without its launcher");
    step.rendezvous.exported_port = "80";
    const auto no_port = plan(request("pytorch"), step, {});
    ASSERT_FALSE(no_port);
    EXPECT_EQ(no_port.error().message(),
              "distgpu: MASTER_PORT=80: not a port that a user may listen on; give a number from "
              "1024 to 65535");
}

TEST(Plan, TheRanksAreSlurmsTaskOrder) {
    const StepLayout step = layout("n1", {{0, 1, 2147483647, 1}});
    for (const std::uint32_t task : {0U, 1U, 7U, 2147483646U}) {
        EXPECT_EQ(rank_of(step, TaskId{task}), GlobalRank{task});
        EXPECT_EQ(task_of(step, GlobalRank{task}), TaskId{task});
    }
}

// Ranks in the order n2, n1: SLURM_PROCID and the local ranks stay.
TEST(Plan, AnOrderOfTheNodesMovesRanksAndNoTask) {
    const StepLayout step =
        *layout("n[1-2]", {{0, 2, 2, 1}}).with_order({NodeIndex{1}, NodeIndex{0}});
    const NodePlan first = planned("pytorch,order=switch", step, 0);
    const NodePlan second = planned("pytorch,order=switch", step, 1);
    EXPECT_EQ(first.rendezvous.address, "n2");
    EXPECT_EQ(first.tasks[1].task, TaskId{1});
    EXPECT_EQ(first.tasks[1].local_rank, LocalRank{1});
    EXPECT_EQ(first.tasks[1].rank, GlobalRank{3});
    EXPECT_EQ(of_all(first, "RANK"), (std::vector<std::string>{"2", "3"}));
    EXPECT_EQ(of_all(first, "NODE_RANK"), (std::vector<std::string>{"1", "1"}));
    EXPECT_EQ(of_all(second, "GROUP_RANK"), (std::vector<std::string>{"0", "0"}));
    EXPECT_EQ(of_all(second, "RANK"), (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(of_all(second, "MASTER_ADDR"), (std::vector<std::string>{"n2", "n2"}));
    EXPECT_EQ(first.ports, std::vector<std::uint16_t>{});
    EXPECT_EQ(second.ports, std::vector<std::uint16_t>{26912});
    EXPECT_EQ(task_of(step, GlobalRank{0}), TaskId{2});
    EXPECT_EQ(rank_of(step, TaskId{2}), GlobalRank{0});
}

TEST(Plan, AnOrderThatDidNotArriveIsRefused) {
    const Step step = step_of(layout("n[1-2]", {{0, 2, 2, 1}}));
    const auto refused = plan(request("pytorch,order=./ring"), step, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "distgpu: order=./ring: the order of the nodes was not sent with the step; load the "
              "plugin on the host of srun too, or leave order out");
    EXPECT_TRUE(plan(request("pytorch,order=slurm"), step, {}));
}

// torch's static rendezvous listens on the
// agent with node rank 0, at PET_MASTER_ADDR: both have to name the same node.
TEST(Plan, TheLauncherOfNodeRankZeroRunsAtTheMasterAddress) {
    // srun -m arbitrary, one launcher each, host file n3,n1,n2.
    const StepLayout step = layout("n[1-3]", {{2, 1, 1, 1}, {0, 2, 1, 1}});
    for (std::uint32_t n = 0; n < 3; ++n) {
        Values set = values(planned("torchrun", step, n).tasks.at(0));
        EXPECT_EQ(set["PET_NODE_RANK"] == "0", set["PET_MASTER_ADDR"] == set["PET_LOCAL_ADDR"])
            << n;
    }
}

// Its own name would be another place for the same task.
TEST(Plan, TheNodeOfRankZeroIsListedAtTheMasterAddress) {
    const StepLayout step = layout("n[1-2]", {{1, 1, 1, 1}, {0, 1, 1, 1}});
    const Values set = values(planned("tensorflow,master=boss,port=30000", step, 0).tasks.at(0));
    EXPECT_EQ(
        set.at("TF_CONFIG"),
        R"({"cluster":{"worker":["boss:30000","n1:30000"]},"task":{"type":"worker","index":1}})");
}

}  // namespace
}  // namespace distgpu::plan_testing
