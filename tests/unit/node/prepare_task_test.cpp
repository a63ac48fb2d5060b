// From a plan to a process that is prepared: what is done, in which order, and what is left undone.
#include "node/prepare_task.h"

#include "listening_port.h"
#include "map_environment.h"
#include "mapping/plan/bound_node.h"
#include "mapping/texts/bound_record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using plan_testing::bound_node;
using plan_testing::everywhere;
using plan_testing::planned_on;

// Two tasks of `spec` on the first of two nodes, each of which may run on all of its CPUs; what
// happens to the process of one of them, line by line.
class PrepareTask : public testing::Test {
  protected:
    Result<std::string> prepare(const char* spec, std::uint32_t local) {
        request_ = plan_testing::request(spec);
        plan_ = planned_on(spec, facts_);
        TaskProcess process{environment_, [this](const std::string& line) { log_ += line + '\n'; },
                            [this](const CpuSet& cpus) {
                                log_ += "CPUs " + cpus.to_string() + '\n';
                                return allowed_;
                            },
                            [this](const std::string& lines) { log_ += lines + '\n'; }};
        return prepare_task({request_, layout_, facts_, plan_, LocalRank{local}}, spec, process);
    }

    NodeTopology topology_ = two_socket_node({0, 2});
    NodeFacts facts_ = bound_node(topology_, everywhere(2), {0, 1});
    StepLayout layout_ = plan_testing::layout("n[1-2]", {{0, 2, 2, 1}});
    Request request_;
    NodePlan plan_;
    MapEnvironment environment_{{{"SLURM_DISTGPU", "pytorch"}, {"PET_NNODES", "7"}}};
    bool allowed_ = true;
    std::string log_;
};

TEST_F(PrepareTask, NarrowsTheCpusAndSetsTheVariables) {
    EXPECT_EQ(*prepare("pytorch", 1), "");
    EXPECT_EQ(log_, "CPUs 8-11,24-27\n");
    EXPECT_EQ(environment_.get("RANK"), "1");
    EXPECT_EQ(environment_.get("PET_NNODES"), std::nullopt);
    EXPECT_EQ(environment_.get("SLURM_DISTGPU"), std::nullopt);
    EXPECT_EQ(environment_.get("SLURM_DISTGPU_PREPARED"), "0.0 pytorch");
}

// This process's own CPUs, which no test changes.
TEST_F(PrepareTask, RecordsWhatTheTaskBeginsWith) {
    EXPECT_EQ(*prepare("pytorch", 1), "");
    KernelCpuSet cpus{};
    ASSERT_TRUE(read_affinity(0, cpus));
    EXPECT_EQ(environment_.get("SLURM_DISTGPU_BOUND"),
              bound_text(CpuSet::from_words(cpus), facts_));
}

// For its node.
TEST_F(PrepareTask, SpeaksBeforeItActs) {
    EXPECT_EQ(*prepare("pytorch,verbose", 1), "");
    EXPECT_EQ(log_, "CPUs 8-11,24-27\n");
    log_.clear();
    EXPECT_EQ(*prepare("pytorch,verbose", 0), "");
    EXPECT_EQ(log_.find("distgpu: pytorch: world size 4 on 2 nodes (n[1-2]), rendezvous n1:"), 0U)
        << log_;
    EXPECT_NE(log_.find("\nCPUs 0-3,16-19\n"), std::string::npos) << log_;
}

TEST_F(PrepareTask, LeavesCpusThatArePlannedAsTheyAre) {
    EXPECT_EQ(*prepare("pytorch,cpus=keep", 1), "");
    EXPECT_EQ(log_, "");
}

TEST_F(PrepareTask, GoesOnWhereTheKernelRefusesTheCpus) {
    allowed_ = false;
    EXPECT_EQ(*prepare("pytorch", 0), "");
    EXPECT_EQ(log_,
              "CPUs 0-3,16-19\n"
              "distgpu: rank 0: the kernel refused CPUs 0-3,16-19; they stay as they were\n");
    EXPECT_EQ(environment_.get("RANK"), "0");
}

TEST_F(PrepareTask, DoesNothingInADryRun) {
    const auto before = environment_.variables();
    const auto printed = prepare("pytorch,dry-run", 1);
    ASSERT_TRUE(printed);
    EXPECT_NE(printed->find("  RANK=1\n"), std::string::npos) << *printed;
    EXPECT_EQ(log_, "");
    EXPECT_EQ(environment_.variables(), before);
}

TEST_F(PrepareTask, SaysWhichVariableWasNotTaken) {
    const std::string spec = "pytorch,master=" + std::string(MapEnvironment::longest + 20, 'x');
    const auto done = prepare(spec.c_str(), 0);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().remedy, "please report this");
}

TEST(PortsOf, AreTheTasksOwn) {
    const NodeFacts facts;
    const StepLayout step = plan_testing::layout("n[1-2]", {{0, 2, 2, 1}});
    const auto ports = [&](const char* spec, std::uint32_t node, std::uint32_t local) {
        const Request request = plan_testing::request(spec);
        const NodePlan plan = plan_testing::planned(spec, step, node);
        return ports_of({request, step, facts, plan, LocalRank{local}});
    };
    using Ports = std::vector<std::uint16_t>;
    EXPECT_EQ(ports("megatron,port=2000", 0, 0), (Ports{2000, 2001, 2002}));
    EXPECT_EQ(ports("megatron,port=2000", 0, 1), Ports{});
    EXPECT_EQ(ports("megatron,port=2000", 1, 0), Ports{});
    EXPECT_EQ(ports("tensorflow,port=2000", 1, 1), Ports{2001});
}

// A plan of pytorch's with this port, on a node that has one listener.
class CheckPorts : public testing::Test {
  protected:
    std::optional<Error> check(PortSource source, const std::vector<std::uint16_t>& ports) {
        NodePlan plan;
        plan.node_name = "n1";
        plan.rendezvous = {"n1", 1, source};
        return check_ports(plan, ports, warnings_);
    }
    std::string taken(const std::string& source, const char* remedy = "") const {
        return "distgpu: port " + std::to_string(listener_.port()) + " (from " + source +
               ") on n1: already in use; choose another with the key port=N" + remedy;
    }

    ListeningPort listener_;
    std::vector<Error> warnings_;
};

TEST_F(CheckPorts, RefusesTheFirstThatIsTaken) {
    const auto error = check(PortSource::key, {1, listener_.port()});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), taken("port=1"));
    EXPECT_EQ(warnings_, std::vector<Error>{});
}

TEST_F(CheckPorts, OnlyTellsOfAnExportedOne) {
    EXPECT_EQ(check(PortSource::exported, {listener_.port()}), std::nullopt);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_EQ(warnings_.front().message(),
              taken("the exported MASTER_PORT", ", or unset MASTER_PORT"));
}

TEST_F(CheckPorts, AcceptsNoneAtAll) {
    EXPECT_EQ(check(PortSource::key, {}), std::nullopt);
    EXPECT_EQ(warnings_, std::vector<Error>{});
}

}  // namespace
}  // namespace distgpu
