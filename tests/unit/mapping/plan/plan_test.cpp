// The plan of a step: what the golden plans do not show.
#include "mapping/plan/plan.h"

#include "bound_node.h"
#include "mapping/message_of.h"
#include "plan_testing.h"

#include <gmock/gmock.h>

namespace distgpu::plan_testing {
namespace {

// An outer step's rank would be another task's.
TEST(Plan, ExportedRanksDoNotStay) {
    const StepLayout step = layout("n1", {{0, 1, 1, 1}});
    const NodeFacts node{.cpus = 4, .exported = {"RANK", "OMP_NUM_THREADS"}};
    EXPECT_EQ(of_all(planned("pytorch", step, 0, node), "RANK"), std::vector<std::string>{"0"});
    EXPECT_EQ(of_all(planned("pytorch", step, 0, node), "OMP_NUM_THREADS"),
              std::vector<std::string>{"-"});
    const auto overridden_by_user =
        planned("pytorch", step, 0, node).tasks.at(0).overridden_by_user;
    EXPECT_EQ(overridden_by_user, (decltype(overridden_by_user){{"OMP_NUM_THREADS", "4"}}));
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
    by_default.rendezvous.default_master = {MasterAddress::Form::suffix, "i"};
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
    // An order of the nodes moves rank 0 to n1, and each task's own port stays.
    const StepLayout ordered = *step.with_order({NodeIndex{0}, NodeIndex{1}});
    EXPECT_EQ(planned("pytorch,port=2000", ordered, 0).ports, Ports{2000});
    EXPECT_EQ(planned("pytorch,port=2000", ordered, 1).ports, Ports{});
    EXPECT_EQ(planned("tensorflow,port=2000", ordered, 0).ports, (Ports{2000, 2001}));
}

TEST(Plan, RefusesAPortWithTooFewAfterIt) {
    const StepLayout step = layout("n1", {{0, 1, 4, 1}});
    EXPECT_EQ(planned("tensorflow,port=65532", step, 0).ports.back(), 65535);
    EXPECT_EQ(
        message_of(plan(request("tensorflow,port=65533"), step_of(step), {})),
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

TEST(Plan, AnOrderThatDidNotArriveIsRefused) {
    const Step step = step_of(layout("n[1-2]", {{0, 2, 2, 1}}));
    EXPECT_EQ(message_of(plan(request("pytorch,order=./ring"), step, {})),
              "distgpu: order=./ring: the node order was not sent with the step; load the plugin "
              "on srun's host too, or leave order out");
    EXPECT_TRUE(plan(request("pytorch,order=slurm"), step, {}));
}

// Its own name would be another place for the same task. torch's static rendezvous listens on the
// agent with node rank 0.
TEST(Plan, TheNodeOfRankZeroIsListedAtTheMasterAddress) {
    const StepLayout step = layout("n[1-2]", {{1, 1, 1, 1}, {0, 1, 1, 1}});
    const Values set = values(planned("tensorflow,master=boss,port=30000", step, 0).tasks.at(0));
    EXPECT_EQ(
        set.at("TF_CONFIG"),
        R"({"cluster":{"worker":["boss:30000","n1:30000"]},"task":{"type":"worker","index":1}})");
    for (std::uint32_t n = 0; n < 2; ++n) {
        Values torch = values(planned("torchrun", step, n).tasks.at(0));
        EXPECT_EQ(torch["PET_NODE_RANK"], n == 1 ? "0" : "1");
        EXPECT_EQ(n == 1, torch["PET_MASTER_ADDR"] == torch["PET_LOCAL_ADDR"]);
    }
}

using testing::Each;
using testing::ElementsAre;

// The same CPUs for every task.
SlurmShare masks(std::uint32_t tasks, std::uint32_t cpus) {
    SlurmShare share;
    share.masks.assign(tasks, CpuSet::range(0, cpus - 1));
    return share;
}

NodeFacts node(std::uint32_t cpus, std::uint32_t cpus_per_task, SlurmShare share = {}) {
    return {.cpus = cpus, .cpus_per_task = cpus_per_task, .share = std::move(share)};
}

TEST(PlanThreads, AreTheCpusOfEachProcess) {
    struct Row {
        const char* title;
        const char* spec;
        std::uint32_t tasks;
        NodeFacts node;
        const char* threads;  // "-": not set
    };
    const std::vector<Row> rows = {
        {"asked for", "pytorch", 4, node(32, 8, masks(4, 8)), "8"},
        {"asked for, unbound", "pytorch", 2, node(32, 4, masks(2, 32)), "4"},
        {"not asked for: the share", "pytorch", 4, node(32, 1), "8"},
        {"not asked for, bound to fewer", "pytorch", 4, node(32, 1, masks(4, 2)), "2"},
        {"not asked for, all may run everywhere", "pytorch", 4, node(32, 1, masks(4, 32)), "8"},
        {"not known, more tasks than CPUs", "pytorch", 4, node(2, 0), "1"},
        {"a launcher's processes share", "torchrun,nproc=4", 1, node(32, 32), "8"},
        {"a launcher on GPUs", "composer", 1, {.gpus = 4, .cpus = 32, .cpus_per_task = 16}, "4"},
        {"more processes than CPUs", "torchrun,nproc=9", 1, node(8, 0), "1"},
        {"the user's own", "pytorch", 4, {.cpus = 32, .exported = {"OMP_NUM_THREADS"}}, "-"},
        {"as they are", "pytorch,omp=keep", 4, node(32, 8), "-"},
        {"in every mode", "ompi", 4, node(32, 8), "8"},
    };
    for (const auto& row : rows) {
        const StepLayout step = layout("n1", {{0, 1, row.tasks, 1}});
        EXPECT_THAT(of_all(planned(row.spec, step, 0, row.node), "OMP_NUM_THREADS"),
                    Each(std::string(row.threads)))
            << row.title;
    }
}

TEST(PlanThreads, CountEachTasksOwnMask) {
    NodeFacts node{.cpus = 32, .cpus_per_task = 1};
    node.share.masks = {{0, 1}, {2, 3, 4}};
    EXPECT_THAT(
        of_all(planned("pytorch", layout("n1", {{0, 1, 2, 1}}), 0, node), "OMP_NUM_THREADS"),
        ElementsAre("2", "3"));
}

// Three tasks may use all 32 CPUs. Two of them share the 8 of their GPUs' NUMA node.
TEST(PlanThreads, FollowTheCpusThatBindingLeaves) {
    const NodeTopology topology = two_socket_node({0, 0, 3});
    NodeFacts node = bound_node(topology, everywhere(3), {0, 1, 2});
    node.cpus_per_task = 1;
    EXPECT_THAT(of_all(planned_on("pytorch", node), "OMP_NUM_THREADS"), ElementsAre("4", "4", "8"));
    EXPECT_THAT(of_all(planned_on("pytorch,cpus=keep", node), "OMP_NUM_THREADS"), Each("10"));
    // With --cpus-per-task some of the CPUs are far from the GPU.
    node.cpus_per_task = 10;
    node.share.cpus_per_task = 10;
    EXPECT_THAT(of_all(planned_on("pytorch", node), "OMP_NUM_THREADS"), Each("10"));
}

const std::string ras = "NCCL_RAS_ADDR";
const std::string buffer = "TORCH_FR_BUFFER_SIZE";
const std::string file = "TORCH_FR_DUMP_TEMP_FILE";

Values of_rank0(const std::string& spec, std::uint32_t tasks, const NodeFacts& node = {}) {
    return values(planned(spec.c_str(), layout("n1", {{0, 1, tasks, 1}}), 0, node).tasks.front());
}

TEST(PlanWatch, FrameworksAreToldToKeepWhatWhyReads) {
    const Values set = of_rank0("pytorch,watch", 4);
    EXPECT_EQ(set.at("NCCL_RAS_ENABLE"), "1");
    EXPECT_EQ(set.at(buffer), "2000");
    EXPECT_EQ(set.at(file), "distgpu-4242.0-rank_");
    // The last of the 16 ports from MASTER_PORT on.
    EXPECT_EQ(set.at("MASTER_PORT"), "26912");
    EXPECT_EQ(set.at(ras), "localhost:26927");
}

TEST(PlanWatch, WithoutTheKeyTheyAreLeftAlone) {
    for (const std::string spec : {"pytorch", "pytorch,watch=off"}) {
        const Values set = of_rank0(spec, 4);
        for (const std::string& name : {ras, buffer, file, std::string("NCCL_RAS_ENABLE")}) {
            EXPECT_FALSE(set.contains(name)) << spec << " " << name;
        }
    }
}

TEST(PlanWatch, APortIsGivenWhereOneIsFree) {
    EXPECT_EQ(of_rank0("pytorch,watch", 15).count(ras), 1U);
    EXPECT_EQ(of_rank0("pytorch,watch", 16).count(ras), 0U);
    EXPECT_EQ(of_rank0("pytorch,watch", 17).count(ras), 1U);
    // Also beside a port of the user's own, from the step's others.
    const Values own = of_rank0("pytorch,watch,port=5000", 4);
    EXPECT_EQ(own.at("MASTER_PORT"), "5000");
    EXPECT_EQ(own.at(ras), "localhost:26927");
}

TEST(PlanWatch, TheUsersExportStaysByItsOlderNameToo) {
    const Values set = of_rank0(
        "pytorch,watch", 4,
        {.exported = {ras, "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}});
    EXPECT_FALSE(set.contains(ras));
    EXPECT_FALSE(set.contains(buffer));
    EXPECT_FALSE(set.contains(file));
    EXPECT_TRUE(set.contains("NCCL_RAS_ENABLE"));
    EXPECT_FALSE(of_rank0("pytorch,watch", 4, {.exported = {buffer}}).contains(buffer));
}

TEST(PlanWatch, ServersMayWaitAsLongAsTheyWant) {
    const auto error = refusal(request("vllm,watch=30:end"), Step{layout("n1", {{0, 1, 1, 1}})});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(),
              "distgpu: watch=30:end: vllm may be idle for that long; write watch without minutes, "
              "and run distgpu why yourself");
    EXPECT_FALSE(refusal(request("vllm,watch"), Step{layout("n1", {{0, 1, 1, 1}})}));
}

// Rank 0 runs on node02 of node[01-03], whose addresses are 10.0.0.1 to 3.
Step arbitrary_step() {
    Step step = step_of(layout("node[01-03]", {{1, 1, 1, 1}, {0, 1, 1, 1}, {2, 1, 1, 1}}));
    step.facts.node_addresses =
        HostList::from_names(std::vector<std::string>{"10.0.0.1", "10.0.0.2", "10.0.0.3"});
    step.rendezvous.rank0_address = "10.0.0.2";
    return step;
}

std::string refused(const char* spec, Step step, std::optional<std::string> exported) {
    step.rendezvous.exported_address = std::move(exported);
    const auto error = refusal(request(spec), step);
    return error ? error->message() : "";
}

TEST(MisleadingAddress, IsTheLoopback) {
    for (const std::string host :
         {"localhost", "localhost.localdomain", "127.0.0.1", "127.0.1.1", "::1", "0.0.0.0", "::"}) {
        EXPECT_EQ(refused("pytorch", arbitrary_step(), host),
                  "distgpu: MASTER_ADDR=" + host +
                      ": each of the step's 3 nodes would look for rank 0 on itself; unset "
                      "MASTER_ADDR");
    }
}

TEST(MisleadingAddress, IsThatOfAnotherNode) {
    for (const std::string host : {"node01", "10.0.0.1", "node03", "10.0.0.3"}) {
        EXPECT_EQ(refused("torchrun", arbitrary_step(), host),
                  "distgpu: MASTER_ADDR=" + host + ": rank 0 runs on node02; unset MASTER_ADDR");
    }
}

TEST(MisleadingAddress, IsNoneThatCanBeRankZeros) {
    for (const char* host : {"node02", "10.0.0.2", "node02-ib0", "node01-ib0", "head.example",
                             "127.example", "localhost.example"}) {
        EXPECT_EQ(refused("pytorch", arbitrary_step(), host), "") << host;
    }
    EXPECT_EQ(refused("pytorch", arbitrary_step(), std::nullopt), "");
    EXPECT_EQ(refused("pytorch", step_of(layout("node01", {{0, 1, 4, 1}})), "localhost"), "");
    // Without a rendezvous it does not matter.
    EXPECT_EQ(refused("horovod", arbitrary_step(), "localhost"), "");
    EXPECT_NE(refused("horovod,backend=gloo", arbitrary_step(), "localhost"), "");
}

// Several slurmds of one machine.
TEST(MisleadingAddress, MayBeSharedByNodes) {
    Step step = arbitrary_step();
    step.facts.node_addresses =
        HostList::from_names(std::vector<std::string>{"10.0.0.9", "10.0.0.9", "10.0.0.9"});
    step.rendezvous.rank0_address = "";
    EXPECT_EQ(refused("pytorch", step, "10.0.0.9"), "");
    step.facts.node_addresses = {};
    step.rendezvous.rank0_address = "node01";
    EXPECT_EQ(refused("pytorch", step, "node01"), "");
}

TEST(MisleadingAddress, OfAKeyIsTheKeys) {
    EXPECT_EQ(refused("pytorch,master=127.0.0.1", arbitrary_step(), "node02"),
              "distgpu: master=127.0.0.1: each of the step's 3 nodes would look for rank 0 on "
              "itself; leave master= out");
    EXPECT_EQ(refused("pytorch,master=node03", arbitrary_step(), std::nullopt),
              "distgpu: master=node03: rank 0 runs on node02; leave master= out");
    EXPECT_EQ(refused("pytorch,master=name", arbitrary_step(), "localhost"), "");
}

// The nodes know what --export made of it.
TEST(MisleadingAddress, IsRefusedByThePlanOfANode) {
    Step step = arbitrary_step();
    step.rendezvous.exported_address = "localhost";
    EXPECT_FALSE(plan(request("jax"), step, NodeFacts{.node = NodeIndex{2}}));
}

}  // namespace
}  // namespace distgpu::plan_testing
